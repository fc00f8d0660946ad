-- On the caller's own connection, by name.

-- name: synchronous
pragma synchronous;

-- name: autocheckpoint
-- Pages; 0 when it is off, or when the caller has a hook of its own.
pragma wal_autocheckpoint;

-- name: two_boxes
-- One: whoever leaves the box out means it.
select name from waybill_box limit 2;
