// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing
import VaultDoorKit

struct LimitedReportTests {
    @Test func `any number of messages becomes a few a minute, and the number of the rest`() {
        let heard = Mutex<[String]>([])
        let report = LimitedReport { text in heard.withLock { $0.append(text) } }
        let start = ContinuousClock.now
        for number in 0..<1000 { report.note("\(number)", at: start) }
        #expect(heard.withLock(\.self) == (0..<LimitedReport.most).map { "\($0)" })
        report.note("later", at: start + .seconds(61))
        #expect(heard.withLock { $0.suffix(2) } == ["980 more messages were left out", "later"])
        report.note("next", at: start + .seconds(200))
        #expect(heard.withLock { $0.suffix(2) } == ["later", "next"])
    }
}
