#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ssh, and kills one of its processes at a chosen frame of the protocol.

cut.py ARGUMENTS: runs ssh with the arguments. The variable CUT is `device N VICTIM` or `server N VICTIM`: once frame N
of that side has arrived, and before it is passed on, VICTIM (ssh, sshd or serve) is killed, and the file `cut` is made.
The serving command writes its process id to `serve.pid`.
"""
import os
import signal
import struct
import subprocess
import sys
import threading

side, frame, victim = os.environ['CUT'].split()
ssh = subprocess.Popen(['/usr/bin/ssh', '-F', os.environ['SSH_CONFIG']] + sys.argv[1:],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def end():
    if victim == 'ssh':
        number = ssh.pid
    elif victim == 'sshd':
        # The command of ssh's connection; the shell has replaced itself by this command.
        with open('/proc/%d/task/%d/children' % (ssh.pid, ssh.pid)) as children:
            number = int(children.read().split()[0])
    else:
        with open('serve.pid') as file:
            number = int(file.read())
    open('cut', 'w').close()
    os.kill(number, signal.SIGKILL)
    # Data in transit is lost with the victim: nothing more is passed on.
    ssh.wait(60)
    os._exit(255)


def take(stream, count):
    data = b''
    while len(data) < count:
        part = os.read(stream, count - len(data))
        if not part:
            return None
        data += part
    return data


def give(stream, data):
    while data:
        data = data[os.write(stream, data):]


def pump(source, target, name):
    data = take(source, 8)
    count = 0
    while data is not None:
        try:
            give(target, data)
        except BrokenPipeError:
            break
        head = take(source, 9)
        if head is None:
            break
        data = take(source, struct.unpack('<I', head[:4])[0])
        if name == side and count == int(frame):
            end()
        count += 1
        data = None if data is None else head + data
    if name == 'device':
        ssh.stdin.close()


def device():
    pump(0, ssh.stdin.fileno(), 'device')


threading.Thread(target=device, daemon=True).start()
pump(ssh.stdout.fileno(), 1, 'server')
sys.exit(ssh.wait())
