// SPDX-License-Identifier: Apache-2.0

/// Attributes and their values in the order of the tags, each tag once: at most a dozen, which are faster to scan than
/// to hash.
package struct AttributeList: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    package struct Field: Equatable, Sendable {
        package var tag: AttributeTag
        package var value: EncodedValue
    }

    package private(set) var fields: [Field] = []

    package init() {}

    /// For repeated tags, the last value counts.
    package init(dictionaryLiteral elements: (AttributeTag, EncodedValue)...) {
        for (tag, value) in elements { self[tag] = value }
    }

    package subscript(tag: AttributeTag) -> EncodedValue? {
        get { fields.first { $0.tag == tag }?.value }
        set {
            let index = fields.firstIndex { $0.tag >= tag } ?? fields.count
            let isHere = index < fields.count && fields[index].tag == tag
            if let newValue {
                if isHere {
                    fields[index].value = newValue
                } else {
                    fields.insert(Field(tag: tag, value: newValue), at: index)
                }
            } else if isHere {
                fields.remove(at: index)
            }
        }
    }

    package mutating func reserveCapacity(_ count: Int) { fields.reserveCapacity(count) }

    package func filter(_ isIncluded: (AttributeTag) -> Bool) -> AttributeList {
        var list = self
        list.fields.removeAll { !isIncluded($0.tag) }
        return list
    }
}
