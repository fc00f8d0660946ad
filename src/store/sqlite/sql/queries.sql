-- The hot path and what it stands on, by name. Each statement is prepared once per connection.

-- name: begin_write
-- IMMEDIATE: a transaction that starts reading and then wants to write is refused at once when
-- somebody else wrote meanwhile, and no waiting helps it.
begin immediate;

-- name: begin_read
-- One snapshot for everything a page tells.
begin;

-- name: commit
commit;

-- name: rollback
rollback;

-- name: savepoint
-- Around each stranger of a shared commit.
savepoint waybill_item;

-- name: release
release waybill_item;

-- name: rollback_to
rollback to waybill_item;

-- name: data_version
-- Moves when another connection than this one has committed.
pragma data_version;

-- ---- the schema -----------------------------------------------------------------------------------

-- name: has_migrations
select 1 from sqlite_schema where type = 'table' and name = 'waybill_migration';

-- name: tables_of_others
select name from sqlite_schema
where type = 'table' and name not like 'waybill!_%' escape '!' and name not like 'sqlite!_%' escape '!'
order by name;

-- name: create_migrations
create table if not exists waybill_migration (
    number integer primary key,
    name text not null,
    checksum text not null,
    at integer not null
) strict;

-- name: list_migrations
select number, name, checksum from waybill_migration order by number;

-- name: insert_migration
insert into waybill_migration (number, name, checksum, at) values (?1, ?2, ?3, ?4);

-- name: insert_store
insert into waybill_store (generation, registry_version) values (?1, 0);

-- ---- boxes, partitions, targets -------------------------------------------------------------------

-- name: store_row
select generation, registry_version from waybill_store;

-- name: next_registry_version
update waybill_store set registry_version = registry_version + 1;

-- name: box_by_name
select id, dedup_window, body_bytes_max from waybill_box where name = ?1;

-- name: box_of_partition
select b.id, b.name from waybill_partition p join waybill_box b on b.id = p.box where p.id = ?1;

-- name: insert_box
insert into waybill_box (name, dedup_window, body_bytes_max) values (?1, ?2, ?3);

-- name: update_box
-- An existing box keeps its partitions; what it asks of messages is as last declared.
update waybill_box set dedup_window = ?2, body_bytes_max = ?3
where name = ?1 and (dedup_window, body_bytes_max) is not (?2, ?3);

-- name: pause_box
update waybill_box set paused = ?2 where name = ?1;

-- name: insert_partition
insert into waybill_partition (box, first_slot, last_slot, owner, heir) values (?1, ?2, ?3, ?4, ?4);

-- name: partitions_of_box
select id from waybill_partition where box = ?1 order by first_slot;

-- name: box_state
-- What a beat tells of a box.
select p.id, p.first_slot, p.last_slot, p.owner, p.epoch, p.heir, b.paused
from waybill_box b join waybill_partition p on p.box = b.id
where b.name = ?1 order by p.first_slot;

-- name: partition_row
select owner, epoch, stopping, unclean_ends, unclean_at from waybill_partition where id = ?1;

-- name: owner_leaves
-- What it still runs when it ends is no unclean end.
update waybill_partition set stopping = ?2 where owner = ?1 and stopping <> ?2;

-- name: owns_any
select 1 from waybill_partition where owner = ?1 limit 1;

-- name: take_partition
update waybill_partition
set owner = ?2, epoch = ?3, stopping = 0, heir = ?4, unclean_ends = ?5, unclean_at = ?6
where id = ?1;

-- name: give_partition
update waybill_partition set owner = ?2, stopping = 0, heir = ?3 where id = ?1;

-- name: target_row
select type, source, tenant, legacy_keys, after, after_dead from waybill_target
where box = ?1 and key = ?2;

-- name: put_target
insert or replace into waybill_target
    (box, key, type, source, tenant, legacy_keys, after, after_dead)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: list_targets
select b.name, t.key, t.type, t.source, t.tenant, t.legacy_keys, t.after, t.after_dead
from waybill_target t join waybill_box b on b.id = t.box
order by b.name, t.key;

-- name: delete_target
delete from waybill_target
where key = ?2 and box = (select id from waybill_box where name = ?1);

-- ---- append ---------------------------------------------------------------------------------------

-- name: insert_message
insert into waybill_message
    (id, partition, appended_at, occurred_at, not_before, type, source, content_type, tenant,
     user_id, correlation_id, lane, dedup_key, collapse_key, attributes, body)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
on conflict (id) do nothing;

-- name: insert_remains
-- What is left of a message whose row is gone: enough to show its dead letter.
insert into waybill_message (sequence, id, partition, appended_at, occurred_at, not_before, type,
    source, content_type, tenant, user_id, correlation_id, lane, dedup_key, collapse_key, body)
values (?1, ?2, ?3, ?4, 0, 0, '', '', '', '', '', '', '', '', '', x'')
on conflict do nothing;

-- name: insert_open
insert into waybill_open (place, id, lane, due) values ((?1 << 47) | ?2, ?3, ?4, ?5);

-- name: insert_dedup
-- The usual case is a new key: one look at the index tells and writes.
insert into waybill_dedup (scope, key, id, body_hash, until) values (?1, ?2, ?3, ?4, ?5)
on conflict do nothing;

-- name: dedup_row
select id, body_hash, until from waybill_dedup where scope = ?1 and key = ?2;

-- name: count_duplicate
-- The answer to a duplicate is a write too, and as durable as the first.
update waybill_dedup set duplicates = duplicates + 1 where scope = ?1 and key = ?2;

-- name: renew_dedup
update waybill_dedup set id = ?3, body_hash = ?4, until = ?5, duplicates = 0
where scope = ?1 and key = ?2;

-- name: delete_dedup
delete from waybill_dedup where scope = ?1 and key = ?2;

-- name: body_by_id
select sequence, partition, body from waybill_message where id = ?1;

-- name: place_by_id
select sequence, partition from waybill_message where id = ?1;

-- name: last_sequence
-- The newest one issued: readers and writers agree on it, because it commits with what it numbers.
select seq from sqlite_sequence where name = 'waybill_message';

-- name: draw_sequence
-- For work that has no new message: a requeue.
update sqlite_sequence set seq = seq + 1 where name = 'waybill_message';

-- ---- read -----------------------------------------------------------------------------------------
-- All answer the same columns: partition, sequence, id, due, message, requeues, halted, parked,
-- strikes, solo_epoch, progress, only_targets. Bodies are read one by one, unless they are known.

-- name: read_rows
-- An increment or a scan: what is ready (or parked) in a partition after a sequence.
select partition, sequence, id, due, message, requeues, halted, parked, strikes, solo_epoch,
    progress, only_targets
from waybill_open
where place > ((?1 << 47) | (?2 << 46) | ?3) and place < ((?1 << 47) | (?2 << 46)) + (1 << 46)
order by place limit ?4;

-- name: read_due
-- In two parts, so that rows of one moment are sought and not walked through page after page.
select partition, sequence, id, due, message, requeues, halted, parked, strikes, solo_epoch,
    progress, only_targets, place
from waybill_open indexed by waybill_open_due
where place >> 46 = ?1 << 1 and due <> 0 and due = ?2 and place > (?1 << 47) | ?3 and ?2 <= ?4
union all
select partition, sequence, id, due, message, requeues, halted, parked, strikes, solo_epoch,
    progress, only_targets, place
from waybill_open indexed by waybill_open_due
where place >> 46 = ?1 << 1 and due <> 0 and due > ?2 and due <= ?4
order by due, place limit ?5;

-- name: lane_rows
-- By the hash of the lane; two lanes that share one are told apart by whoever reads their messages.
select sequence from waybill_lane
where lane = ?1 and partition = ?2 and sequence >= ?3 order by sequence;

-- name: lane_tail
-- What waybill_lane does not have yet.
select lane, sequence from waybill_open
where place > ((?1 << 47) | ?2) and place < ((?1 << 47) | (1 << 46)) and lane is not null
order by place;

-- name: open_row
select partition, sequence, id, due, message, requeues, halted, parked, strikes, solo_epoch,
    progress, only_targets
from waybill_open where place in ((?1 << 47) | ?2, (?1 << 47) | (1 << 46) | ?2);

-- name: ready_row
select partition, sequence, id, due, message, requeues, halted, parked, strikes, solo_epoch,
    progress, only_targets
from waybill_open where place = (?1 << 47) | ?2;

-- name: open_rows_of_message
-- Its first row, and those its requeues gave it.
select partition, sequence, id, due, message, requeues, halted, parked, strikes, solo_epoch,
    progress, only_targets
from waybill_open
where place in ((?1 << 47) | ?2, (?1 << 47) | (1 << 46) | ?2) and message is null
union all
select partition, sequence, id, due, message, requeues, halted, parked, strikes, solo_epoch,
    progress, only_targets
from waybill_open where message = ?2
order by sequence;

-- name: message_row
select id, partition, appended_at, not_before, type, source, content_type, tenant, user_id,
    correlation_id, lane, dedup_key, collapse_key, attributes, body, occurred_at, requeues
from waybill_message where sequence = ?1;

-- name: commands_waiting
select id, partition, kind, message, sequence, target from waybill_command
where partition = ?1 and answered = 0 order by id;

-- ---- settle ---------------------------------------------------------------------------------------

-- name: finish_row
-- The usual case: a ready row that was never requeued.
delete from waybill_open where place = (?1 << 47) | ?2 and id = ?3 and message is null;

-- name: delete_row
delete from waybill_open where place = (?1 << 47) | (?2 << 46) | ?3;

-- name: update_row
update waybill_open
set place = (?1 << 47) | (?6 << 46) | ?3, due = ?4, halted = ?5, strikes = ?7, solo_epoch = ?8,
    requeues = ?9, progress = ?10
where place = (?1 << 47) | (?2 << 46) | ?3;

-- name: update_progress
update waybill_open set progress = ?4 where place = (?1 << 47) | (?2 << 46) | ?3;

-- name: exceptions
-- Asked once per batch: while there is no dead letter and no requeued row at all, no message needs
-- to be asked for its own.
select exists (select 1 from waybill_dead),
    exists (select 1 from waybill_open indexed by waybill_open_requeued where message is not null);

-- name: message_has
-- Whether another row of the message is open, and whether a delivery of it is dead.
select exists (select 1 from waybill_open
        where place in ((?1 << 47) | ?2, (?1 << 47) | (1 << 46) | ?2))
        or exists (select 1 from waybill_open where message = ?2),
    exists (select 1 from waybill_dead where message = ?2);

-- name: insert_finished
insert or replace into waybill_finished (box, held, at, message) values (?1, ?2, ?3, ?4);

-- name: release_finished
-- Its last dead letter went: from now on only its age counts, as of when it finished.
update waybill_finished set held = 0 where message = ?1 and held = 1
    and not exists (select 1 from waybill_dead where message = ?1);

-- name: delete_held
delete from waybill_finished where message = ?1 and held = 1;

-- name: delete_message
delete from waybill_message where sequence = ?1;

-- name: delete_attempts
delete from waybill_attempt where message = ?1;

-- name: insert_attempt
-- Writing it twice is writing it once.
insert or ignore into waybill_attempt
    (message, target, requeues, number, box, result, at, took, error, detail)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- name: put_dead
insert into waybill_dead
    (message, box, sequence, target, reason, failures, requeues, because, at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
on conflict (message, target) do update set sequence = excluded.sequence, reason = excluded.reason,
    failures = excluded.failures, requeues = excluded.requeues, because = excluded.because,
    at = excluded.at;

-- name: delete_dead
delete from waybill_dead where message = ?1 and target = ?2;

-- name: answer_command
update waybill_command set answered = 1, carried_out = ?3, text = ?4
where id = ?1 and partition = ?2 and answered = 0;

-- name: forget_answers
delete from waybill_command where id <= ?1 and answered = 1;

-- ---- lanes --------------------------------------------------------------------------------------

-- name: lanes_state
select lanes_up_to, lanes_rows,
    (select seq from sqlite_sequence where name = 'waybill_message') from waybill_store;

-- name: first_open
-- The smallest sequence of any open row, ready or parked.
select min(o.place & 70368744177663) from (select id from waybill_partition) p
join waybill_open o on o.place in (
    (select min(place) from waybill_open
        where place >= p.id << 47 and place < (p.id << 47) + (1 << 46)),
    (select min(place) from waybill_open
        where place >= (p.id << 47) + (1 << 46) and place < (p.id + 1) << 47));

-- name: index_lanes
-- In the order of the table they go to: each of its pages is written once.
insert or ignore into waybill_lane (lane, partition, sequence)
select o.lane, p.id, o.sequence from waybill_partition p join (select 0 as parked union select 1) k
join waybill_open o on o.place > ((p.id << 47) | (k.parked << 46) | ?1)
    and o.place <= ((p.id << 47) | (k.parked << 46) | ?2)
where o.lane is not null order by 1, 2, 3;

-- name: forget_lanes
delete from waybill_lane;

-- name: set_lanes_state
update waybill_store set lanes_up_to = ?1, lanes_rows = ?2;
