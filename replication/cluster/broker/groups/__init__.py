"""Groups of consumers by the classic protocol, and what they commit: in memory, without sockets or threads.

Answers are Kafka's, but that

- of members or protocols between which Kafka's choice is any, the one that came first is taken;
- who waits in the name of a member is answered with REBALANCE_IN_PROGRESS where that member asks again, and with
  UNKNOWN_MEMBER_ID where it leaves; Kafka forgets that it waits;
- a group is listed from its first request on; Kafka lists it once it has written a record;
- groups of the consumer protocol (KIP-848) that a broker has kept are groups without members here;
- there are no coordinators of transactions.
"""
