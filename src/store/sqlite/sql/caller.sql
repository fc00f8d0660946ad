-- On the caller's own connection, by name.

-- name: lock_for_writing
-- Changes nothing, but takes the write lock before anything is read.
update waybill_store set registry_version = registry_version where false;

-- name: synchronous
pragma synchronous;

-- name: autocheckpoint
-- Pages; 0 when it is off, or when the caller has a hook of its own.
pragma wal_autocheckpoint;

-- name: two_boxes
-- One: whoever leaves the box out means it.
select name from waybill_box limit 2;

-- name: put_mark
-- The mark of a guard is a dedup record. One that has ended counts as none: nothing changes only when
-- it is there and still holds.
insert into waybill_dedup (scope, key, id, body_hash, until) values (?1, ?2, ?3, x'', ?4)
on conflict (scope, key) do update set id = excluded.id, until = excluded.until, duplicates = 0
where until <= ?5;
