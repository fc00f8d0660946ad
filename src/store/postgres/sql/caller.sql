-- On the caller's own connection, by name.

-- name: commit_waits
select current_setting('synchronous_commit') <> 'off';

-- name: two_boxes
-- One: whoever leaves the box out means it.
select name from waybill.box limit 2;
