-- What people ask and order, and housekeeping, by name.

-- ---- people ---------------------------------------------------------------------------------------

-- name: letters_of_message
select m.id, d.sequence, d.target, d.reason, d.failures, d.requeues, d.because, d.at, d.number,
    d.message
from waybill_dead d join waybill_message m on m.sequence = d.message
where d.message = ?1 order by d.target;

-- name: letters_after
select m.id, d.sequence, d.target, d.reason, d.failures, d.requeues, d.because, d.at, d.number,
    d.message
from waybill_dead d join waybill_message m on m.sequence = d.message
where d.number > ?1 and d.at >= ?2 and d.at < ?3 order by d.number;

-- name: attempts_of_message
select target, requeues, number, result, at, took, error, detail from waybill_attempt
where message = ?1 order by at, target, requeues, number;

-- name: was_attempted
select exists (select 1 from waybill_attempt where message = ?1 and target = ?2);

-- name: messages_before
-- Newest first. What wildcards and states ask is looked at row by row; the body comes when the rest fits.
select sequence, partition, appended_at, type, source, tenant from waybill_message
where sequence < ?1 and appended_at >= ?2 and appended_at < ?3 order by sequence desc;

-- name: messages_after
-- The same, oldest first.
select sequence, partition, appended_at, type, source, tenant from waybill_message
where sequence > ?1 and appended_at >= ?2 and appended_at < ?3 order by sequence;

-- name: unfinished_before
-- Of those that have open work or dead letters: most are done, and who asks for others does not walk over them.
select sequence, partition, appended_at, type, source, tenant from waybill_message
where sequence in (
        select coalesce(message, sequence) from waybill_open
        where coalesce(message, sequence) < ?1
        union all select message from waybill_dead where message < ?1)
    and appended_at >= ?2 and appended_at < ?3 order by sequence desc;

-- name: unfinished_after
-- The same, oldest first.
select sequence, partition, appended_at, type, source, tenant from waybill_message
where sequence in (
        select coalesce(message, sequence) from waybill_open
        where coalesce(message, sequence) > ?1
        union all select message from waybill_dead where message > ?1)
    and appended_at >= ?2 and appended_at < ?3 order by sequence;

-- name: list_boxes
select b.name, b.paused,
    (select count(*) from waybill_partition p join waybill_open o
        on o.place >= p.id << 47 and o.place < (p.id << 47) + (1 << 46) where p.box = b.id),
    (select count(*) from waybill_partition p join waybill_open o
        on o.place >= (p.id << 47) + (1 << 46) and o.place < (p.id + 1) << 47 where p.box = b.id)
from waybill_box b order by b.name;

-- name: ready_rows_of_box
select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked, o.strikes,
    o.solo_epoch, o.progress, o.only_targets, m.type, m.source, m.tenant
from waybill_box b join waybill_partition p on p.box = b.id
join waybill_open o on o.place >= p.id << 47 and o.place < (p.id << 47) + (1 << 46)
join waybill_message m on m.sequence = coalesce(o.message, o.sequence)
where b.name = ?1;

-- name: insert_requeued
insert into waybill_open (place, id, lane, due, message, requeues, only_targets)
values ((?1 << 47) | ?2, ?3, ?4, 0, ?5, ?6, ?7);

-- name: record_generation
update waybill_message set requeues = ?2 where sequence = ?1 and requeues < ?2;

-- name: finished_at
-- A message is finished soon after it was appended, so that few rows are looked at.
select at from waybill_finished
where box = ?1 and held = 0 and at >= ?2 and message = ?3 order by at limit 1;

-- name: insert_command
insert into waybill_command (partition, kind, message, sequence, target)
values (?1, ?2, ?3, ?4, ?5);

-- name: halted_row
-- A sequence is unique in the store, so whoever knows it need not know its partition.
select o.partition, o.id from waybill_partition p
join waybill_open o on o.place in ((p.id << 47) | ?1, (p.id << 47) | (1 << 46) | ?1)
where o.halted = 1;

-- name: command_answer
select id, partition, carried_out, text from waybill_command where id = ?1 and answered = 1;

-- ---- upkeep ---------------------------------------------------------------------------------------

-- name: expired_messages
select at, message from waybill_finished
where box = ?1 and held = 0 and at <= ?2 order by at, message limit ?3;

-- name: quick_check
-- Everything but whether each index has its rows: that takes much longer.
pragma quick_check(20);

-- name: count_done
select count(*) from waybill_finished f
where f.held = 0 and (?1 = '' or f.box = (select b.id from waybill_box b where b.name = ?1));

-- name: delete_finished
delete from waybill_finished where box = ?1 and held = 0 and at = ?2 and message = ?3;

-- name: expired_letters
-- Not the letter a halted lane stands at: without it nobody could requeue its head.
select d.message, d.target from waybill_dead d join waybill_message m on m.sequence = d.message
where d.box = ?1 and d.at <= ?2 and not exists (
    select 1 from waybill_open o where o.halted = 1
        and o.place in ((m.partition << 47) | d.sequence,
            (m.partition << 47) | (1 << 46) | d.sequence))
order by d.at, d.number limit ?3;

-- name: expired_attempts
select message, target, requeues, number from waybill_attempt
where box = ?1 and at <= ?2 order by at limit ?3;

-- name: delete_attempt
delete from waybill_attempt
where message = ?1 and target = ?2 and requeues = ?3 and number = ?4;

-- name: expired_dedup
select scope, key from waybill_dedup where until <= ?1 order by until limit ?2;

-- name: count_open
select count(*) filter (where parked = 0), count(*) filter (where parked = 1) from waybill_open;

-- name: count_dead
select count(*) from waybill_dead;

-- name: oldest_open
-- The first of each partition whose time has come.
select min(m.appended_at) from waybill_partition p
join waybill_message m on m.sequence = (
    select coalesce(o.message, o.sequence) from waybill_open o
    where o.place >= p.id << 47 and o.place < (p.id << 47) + (1 << 46) and o.due <= ?1
    order by o.place limit 1);

-- name: turn_over
-- Twice in a transaction it is the smallest write there is: a page goes to the disk, and nothing has changed.
-- The same value written again would not be written at all.
update waybill_store set registry_version = ~registry_version;

-- name: integrity_check
pragma integrity_check(100);

-- name: new_generation
-- A copy is another timeline: tokens of this one prove nothing there.
update waybill_store set generation = ?1;

-- ---- notes ----------------------------------------------------------------------------------------

-- name: note
select text from waybill_note where name = ?1 and (until is null or until > ?2);

-- name: notes_from
-- In the order of their names; who asks stops at the first that does not begin as it should.
select name, text from waybill_note
where name >= ?1 and (until is null or until > ?2) order by name;

-- name: keep_note
insert into waybill_note (name, text, until) values (?1, ?2, ?3)
on conflict (name) do update set text = excluded.text, until = excluded.until;

-- name: drop_note
delete from waybill_note where name = ?1;

-- name: drop_old_notes
-- A few with each that is written, so that they never pile up.
delete from waybill_note where name in
    (select name from waybill_note where until <= ?1 order by until limit 10);
