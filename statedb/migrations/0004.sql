-- No query finds replies by these: open ones are found by their parts, an event's by the origin. Each cost every comment
-- that waits a page to write.
DROP INDEX replies_open;
DROP INDEX replies_by_item;
