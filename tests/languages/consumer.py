"""A user's program: writes a bag, opens it again and compares every record, as c-tests/consumers/consumer.c does.

consumer.py BAG
"""
import sys

import holdall

RECORDS = [bytes([ord("a") + i % 26]) * (i % 100) for i in range(1000)]

with holdall.BagWriter(sys.argv[1]) as writer:
    for record in RECORDS:
        writer.append(record)
    writer.commit()
with holdall.Bag(sys.argv[1]) as bag:
    if len(bag) != len(RECORDS):
        sys.exit("consumer: the bag has lost records")
    for i, record in enumerate(RECORDS):
        if bag[i] != record:
            sys.exit(f"consumer: record {i} differs")
    try:
        bag[len(RECORDS)]
        sys.exit("consumer: a record behind the last was not refused")
    except IndexError:
        pass
print(f"{len(RECORDS)} records, holdall {holdall.version()}")
