-- Writers queue behind the lock of a drop, and a dump keeps it waiting in vain for hours. So it
-- waits only as long as a batch of settlements takes. The next call tries again.
ALTER FUNCTION "drop_request_partition"(DATE) SET lock_timeout = '200ms';
