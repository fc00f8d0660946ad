-- The hot path and what it stands on, by name. Each statement is prepared once per connection. The schema
-- is "waybill" here; another name is put in when a statement is prepared.

-- ---- the schema -----------------------------------------------------------------------------------

-- name: migration_lock
-- Held to the end of the transaction: two hosts that migrate at once do it once.
select pg_advisory_xact_lock(hashtextextended('waybill.migration', 0));

-- name: has_schema
select from pg_namespace where nspname = $1::text;

-- name: schema_owner
select current_user::text, coalesce((select nspowner::regrole::text from pg_namespace
    where nspname = $1::text), '');

-- name: has_migrations
select to_regclass('waybill.migration') is not null;

-- name: create_migrations
create table if not exists waybill.migration (
    number integer primary key,
    name text not null,
    checksum text not null,
    -- Versions that do not know it cannot work with what it leaves.
    breaking boolean not null default false,
    at timestamptz not null default now()
);

-- name: list_migrations
select number, checksum, name, breaking from waybill.migration order by number;

-- name: insert_migration
insert into waybill.migration (number, name, checksum, breaking)
values ($1::integer, $2::text, $3::text, $4::boolean);

-- name: instances_behind
-- Who lives and does not know this migration: what it breaks would break them.
select i.name from waybill.instance i
where waybill.is_alive(i, waybill.clock()) and i.knows < $1::integer order by i.name limit 5;

-- ---- boxes, partitions, targets -------------------------------------------------------------------

-- name: store_row
select waybill.clock(), waybill.generation(), registry_version from waybill.store;

-- name: lock_registry
-- Whoever declares does it alone.
select registry_version from waybill.store for update;

-- name: next_registry_version
update waybill.store set registry_version = registry_version + 1;

-- name: list_boxes
-- With their partitions, by slot.
select b.id, b.name, b.dedup_window, b.body_bytes_max, p.id
from waybill.box b join waybill.partition p on p.box = b.id order by b.id, p.first_slot;

-- name: insert_box
insert into waybill.box (name, dedup_window, body_bytes_max)
values ($1::text, $2::bigint, $3::bigint) returning id;

-- name: update_box
-- An existing box keeps its partitions; what it asks of messages is as last declared.
update waybill.box set dedup_window = $2::bigint, body_bytes_max = $3::bigint
where name = $1::text and (dedup_window, body_bytes_max) is distinct from ($2::bigint, $3::bigint);

-- name: pause_box
update waybill.box set paused = $2::boolean where name = $1::text returning true;

-- name: insert_partitions
-- Slot s belongs to partition s × count / 1,024, rounded down.
insert into waybill.partition (box, first_slot, last_slot)
select $1::integer, (i * 1024 + $2::integer - 1) / $2::integer,
    ((i + 1) * 1024 + $2::integer - 1) / $2::integer - 1
from generate_series(0, $2::integer - 1) as i order by i;

-- name: put_target
-- Says whether anything changed.
insert into waybill.target as t
    (box, key, type, source, tenant, legacy_keys, after, after_dead)
select b.id, $2::text, $3::text, $4::text, $5::text, $6::text[], $7::text, $8::smallint
from waybill.box b where b.name = $1::text
on conflict (box, key) do update set type = excluded.type, source = excluded.source,
    tenant = excluded.tenant, legacy_keys = excluded.legacy_keys, after = excluded.after,
    after_dead = excluded.after_dead
where (t.type, t.source, t.tenant, t.legacy_keys, t.after, t.after_dead) is distinct from
    (excluded.type, excluded.source, excluded.tenant, excluded.legacy_keys, excluded.after,
     excluded.after_dead)
returning true;

-- name: list_targets
select b.name, t.key, t.type, t.source, t.tenant, t.legacy_keys, t.after, t.after_dead
from waybill.target t join waybill.box b on b.id = t.box
order by b.name collate "C", t.key collate "C";

-- name: delete_target
delete from waybill.target
where key = $2::text and box = (select id from waybill.box where name = $1::text) returning true;

-- ---- who is alive, who owns what ------------------------------------------------------------------

-- name: owns_any
select exists (select from waybill.partition where owner = $1::uuid);

-- name: put_instance
insert into waybill.instance as i (incarnation, since, alive_until, lease, stopping, name, guest,
    hungry, boxes, executes, running, waiting, knows, listener, refused)
values ($1::uuid, waybill.clock(), waybill.clock() + $2::bigint, $2::bigint, $3::boolean, $4::text,
    $5::boolean, $6::bigint, $7::text[], $8::bigint[], $9::text[], $10::bigint, $11::integer,
    $12::integer, $13::text)
on conflict (incarnation) do update set alive_until = excluded.alive_until, lease = excluded.lease,
    stopping = excluded.stopping, name = excluded.name, guest = excluded.guest,
    hungry = excluded.hungry, boxes = excluded.boxes, executes = excluded.executes,
    running = excluded.running, waiting = excluded.waiting, knows = excluded.knows,
    listener = excluded.listener, refused = excluded.refused;

-- name: remove_instance
delete from waybill.instance where incarnation = $1::uuid;

-- name: bury_instances
-- The dead are listed only while a partition still names them.
delete from waybill.instance i
where not waybill.is_alive(i, waybill.clock())
    and not exists (select from waybill.partition p where p.owner = i.incarnation);

-- name: living_instances
select i.incarnation, i.name, i.stopping, i.guest, i.hungry, i.boxes, i.executes, i.running,
    i.waiting
from waybill.instance i where waybill.is_alive(i, waybill.clock()) order by i.incarnation;

-- name: box_states
-- What a beat tells of the boxes it attends.
select p.id, b.name, p.first_slot, p.last_slot, p.owner, p.epoch, p.heir, b.paused,
    coalesce(waybill.is_alive(i, waybill.clock()), false)
from unnest($1::text[]) with ordinality as w (name, place)
join waybill.box b on b.name = w.name
join waybill.partition p on p.box = b.id
left join waybill.instance i on i.incarnation = p.owner
order by w.place, p.first_slot;

-- name: short_locks
-- A takeover does not wait for long: there is a next beat.
set local lock_timeout = '200ms';

-- name: lock_partitions
-- One that somebody holds, a settlement or a frozen inline run of its dead owner, waits for a next beat and
-- keeps none of the others back.
select p.id, p.owner, p.epoch, p.unclean_ends, p.unclean_at from waybill.partition p
where p.id = any ($1::integer[]) order by p.id for update skip locked;

-- name: lock_owners
-- So that a late renewal and a takeover cannot both succeed.
select i.incarnation, i.stopping from waybill.instance i
where i.incarnation = any ($1::uuid[]) order by i.incarnation for update;

-- name: owners_alive
-- Asked after they are locked: the clock of the statement that waited for the lock is too old.
select waybill.clock(), waybill.generation(), array(
    select i.incarnation from waybill.instance i
    where i.incarnation = any ($1::uuid[]) and waybill.is_alive(i, waybill.clock()));

-- name: take_partitions
update waybill.partition p set owner = $2::uuid, epoch = t.epoch,
    heir = '00000000-0000-0000-0000-000000000000', unclean_ends = t.unclean_ends,
    unclean_at = t.unclean_at
from unnest($1::integer[], $3::bigint[], $4::integer[], $5::bigint[])
    as t (id, epoch, unclean_ends, unclean_at)
where p.id = t.id;

-- name: give_partitions
update waybill.partition p set owner = '00000000-0000-0000-0000-000000000000', heir = g.heir
from unnest($1::integer[], $2::uuid[], $3::bigint[], $4::text[], $5::uuid[])
    as g (id, owner, epoch, generation, heir)
where p.id = g.id and p.owner = g.owner and p.epoch = g.epoch
    and g.generation = waybill.generation()
    and p.owner <> '00000000-0000-0000-0000-000000000000';

-- ---- append ---------------------------------------------------------------------------------------

-- name: append_new
-- The same as waybill.append for messages that nobody can have appended before, because their ids were made for them
-- and they have no dedup keys: nothing is looked up, and it is one plain statement, which takes two thirds of the
-- time of a function that is ready for everything. If an id is known after all it ends as a unique violation.
-- A transaction has its number before it draws a sequence: waybill.low_water rests on that.
with item as materialized (
    select case when x.xact is not null then nextval('waybill.sequence') end as sequence, x.now, i.*
    from (select pg_current_xact_id() as xact, waybill.clock() as now offset 0) x
    cross join unnest($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::text[],
            $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[],
            $14::text[], $15::bytea[])
        as i (id, partition, occurred_at, not_before, type, source, content_type, tenant, user_id,
            correlation_id, lane, lane_number, collapse_key, attributes, body)
), message as (
    insert into waybill.message (sequence, id, partition, appended_at, occurred_at, not_before, type,
        source, content_type, tenant, user_id, correlation_id, lane, dedup_key, collapse_key,
        attributes, body)
    select i.sequence, i.id, i.partition, i.now, i.occurred_at, i.not_before, i.type,
        coalesce(i.source, ''), coalesce(i.content_type, ''), coalesce(i.tenant, ''),
        coalesce(i.user_id, ''), coalesce(i.correlation_id, ''), coalesce(i.lane, ''), '',
        coalesce(i.collapse_key, ''), nullif(i.attributes, '')::text[], i.body
    from item i
)
insert into waybill.open (partition, sequence, id, lane, due)
select i.partition, i.sequence, i.id, i.lane_number, i.not_before from item i
returning sequence, xact;

-- name: append
select *, pg_current_xact_id()
from waybill.append($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::text[],
    $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[],
    $14::text[], $15::text[], $16::bytea[], $17::text[], $18::bigint[], $19::bytea[], $20::boolean);

-- ---- settle ---------------------------------------------------------------------------------------

-- name: rows_at
-- What is about to be changed by more than its end. Nobody else changes it, so that no lock is needed.
select o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked, o.strikes,
    o.solo_epoch, o.progress, o.only_targets
from unnest($1::integer[], $2::bigint[]) as w (partition, sequence)
cross join lateral (
    select * from waybill.open o where o.partition = w.partition and o.parked in (false, true)
        and o.sequence = w.sequence offset 0) o;

-- name: settle
select * from waybill.settle($1::bigint, $2::integer[], $3::uuid[], $4::bigint[], $5::text[],
    $6::integer[], $7::bigint[], $8::uuid[], $9::boolean[], $10::integer[], $11::bigint[],
    $12::uuid[], $13::bigint[], $14::boolean[], $15::boolean[], $16::integer[], $17::bigint[],
    $18::integer[], $19::text[], $20::text[], $21::integer[], $22::bigint[], $23::uuid[],
    $24::bigint[], $25::text[], $26::integer[], $27::bigint[], $28::uuid[], $29::bigint[],
    $30::text[], $31::text[], $32::bigint[], $33::integer[], $34::text[], $35::bigint[],
    $36::integer[], $37::bigint[], $38::uuid[], $39::text[], $40::integer[], $41::bigint[],
    $42::smallint[], $43::bigint[], $44::bigint[], $45::text[], $46::text[], $47::bigint[],
    $48::integer[], $49::boolean[], $50::text[]);

-- name: inline_state
-- Which transaction this is (no two of a session begin in the same microsecond), whether the partition is
-- still ours, and the row, if it is there.
select extract(epoch from now())::text,
    exists (select from waybill.partition p where p.id = $1::integer and p.owner = $2::uuid
        and p.epoch = $3::bigint and $4::text = waybill.generation()),
    o.partition, o.sequence, o.id, o.due, o.message, o.requeues, o.halted, o.parked, o.strikes,
    o.solo_epoch, o.progress, o.only_targets
from (select) as nothing
left join waybill.open o on o.partition = $1::integer and o.parked in (false, true)
    and o.sequence = $5::bigint;

-- name: record_inline
-- The last words of an inline transaction. Nothing changes when the partition has moved, or when its row is
-- no longer as it was read: then somebody else has recorded it.
with fence as (
    select p.id from waybill.partition p
    where p.id = $1::integer and p.owner = $2::uuid and p.epoch = $3::bigint
        and $4::text = waybill.generation() for share)
update waybill.open o set progress = $7::text::text[]
where exists (select from fence)
    and o.partition = $1::integer and o.parked in (false, true) and o.sequence = $5::bigint
    and o.progress is not distinct from $6::text::text[]
-- COMMIT follows at once. A client that freezes before it does not keep the partition locked for long.
returning set_config('idle_in_transaction_session_timeout', '2s', true);
