-- The tables of a store. The schema is called "waybill" here and may have another name.
-- Times are microseconds since 1970; 0 is "no time". No foreign keys: each would be a look-up and a lock
-- per message, and the few writers there are keep these rows in step.

-- The store's clock. A test puts another one here.
create function waybill.clock() returns bigint
language sql stable parallel safe as $$
    select (extract(epoch from statement_timestamp()) * 1000000)::bigint
$$;

-- One row: how often the registry of targets changed.
create table waybill.store (
    one boolean primary key default true check (one),
    registry_version bigint not null default 0
);
insert into waybill.store default values;

-- dedup_window and body_bytes_max are here for those who publish in their own transaction: they have
-- the database, not the options of the application. dedup_window is null for ever.
create table waybill.box (
    id integer generated always as identity primary key,
    name text not null unique,
    paused boolean not null default false,
    dedup_window bigint,
    body_bytes_max bigint not null
);

-- A range of slots of a box, and who owns it: nil for nobody. A row changes only when it changes hands,
-- so that a settlement's lock on it never waits for anybody's heartbeat.
create table waybill.partition (
    id integer generated always as identity primary key,
    box integer not null,
    first_slot integer not null,
    last_slot integer not null,
    owner uuid not null default '00000000-0000-0000-0000-000000000000',
    epoch bigint not null default 0,
    heir uuid not null default '00000000-0000-0000-0000-000000000000',
    unclean_ends integer not null default 0,
    unclean_at bigint
) with (fillfactor = 50);
create unique index partition_of_box on waybill.partition (box, first_slot);
create index partition_of_owner on waybill.partition (owner);

-- Who is alive, since when and until when. What an instance says of itself once a second: `executes`
-- has the numbers of the targets it has code for, `knows` the last migration its version has, `listener`
-- the backend that wakes it, 0 while it has lost it, null where it wants none.
create table waybill.instance (
    incarnation uuid primary key,
    since bigint not null,
    alive_until bigint not null,
    lease bigint not null,
    knows integer not null,
    listener integer,
    stopping boolean not null,
    name text not null,
    guest boolean not null,
    hungry bigint not null,
    boxes text[] not null,
    executes bigint[] not null,
    -- message, target, microseconds; and again.
    running text[] not null,
    waiting bigint not null,
    -- What the store refuses it, for people.
    refused text not null default ''
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- A lease that reaches far beyond one lease from now was written before the clock stepped back: it must
-- not keep a dead owner alive until the clock has caught up. One lease of tolerance, because whoever
-- judges may have looked at the clock a moment before the other one renewed.
create function waybill.is_alive(instance waybill.instance, now bigint) returns boolean
language sql immutable parallel safe as $$
    select instance.alive_until > now and instance.alive_until <= now + 2 * instance.lease
$$;

create table waybill.target (
    box integer not null,
    key text not null,
    type text not null,
    source text not null,
    tenant text not null,
    legacy_keys text[] not null,
    after text not null,
    after_dead smallint not null,
    primary key (box, key)
);

-- Where messages and requeues get their place from. Drawn before the commit: its order is not the order
-- of commit, and no reader may take it for that.
create sequence waybill.sequence;

-- Written once, never updated. In a table for each day, by the time that is in its id (UUIDv7), which keeps
-- the id unique in the store without a table of ids beside it; `message_other` takes what has no day: ids that
-- are not of that kind, and days nobody has made in time (see 0007). Whoever has the id looks in one of them,
-- by the sequence in all.
create table waybill.message (
    sequence bigint not null,
    id uuid not null primary key,
    partition integer not null,
    appended_at bigint not null,
    occurred_at bigint not null,
    not_before bigint not null,
    type text not null,
    source text not null,
    content_type text not null,
    tenant text not null,
    user_id text not null,
    correlation_id text not null,
    lane text not null,
    dedup_key text not null,
    collapse_key text not null,
    -- Grows when people requeue or replay something of it; the rest is written once.
    requeues integer not null default 0,
    -- name, value; and again. Null for none.
    attributes text[],
    body bytea not null
) partition by range (id);
create index message_sequence on waybill.message (sequence);
create table waybill.message_other partition of waybill.message default;

-- Open work: one narrow row per message that is not finished. Its key keeps the rows in the order of
-- reading, each partition in a range of its own, and parked ones apart, so that no reader of ready work
-- walks over them. `xact` is the transaction that wrote it: what a reader has not seen is told by that,
-- not by the sequence. `message` is the sequence of its message when that is another one (a requeue).
-- `lane` is a hash; whoever reads by it compares the lane itself. Its only writer is the owner of the
-- partition, but for rows that come in.
create table waybill.open (
    partition integer not null,
    parked boolean not null default false,
    halted boolean not null default false,
    sequence bigint not null,
    xact xid8 not null default pg_current_xact_id(),
    id uuid not null,
    due bigint not null,
    lane bigint,
    message bigint,
    requeues integer not null default 0,
    strikes integer not null default 0,
    solo_epoch bigint not null default 0,
    -- target, state, failures, due, last error, skipped; and again. Null for none.
    progress text[],
    only_targets text[],
    -- Parked comes first because rows are looked for whether or not they are: a list of values for a column further
    -- behind is left to chance by the planner, and the whole partition walked through.
    primary key (parked, partition, sequence)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_threshold = -1, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 5000);
-- Every index here is paid twice per message. This one all rows pay: increments are found by it.
create index open_xact on waybill.open (xact);
-- These are paid only by the rows that need them.
create index open_due on waybill.open (partition, due, sequence) where due <> 0 and not parked;
create index open_requeued on waybill.open (message) where message is not null;

-- Which open rows are in which lane. An index would be paid by every message that has a lane, and is asked only for lanes
-- that are longer than memory keeps. So it is a list that is made when somebody asks, in bulk and in its own order (see
-- 0008). It is worth nothing without the other table and can be made again, so neither is logged: a crash empties both.
create unlogged table waybill.lane_row (
    edition bigint not null,
    lane bigint not null,
    partition integer not null,
    sequence bigint not null,
    primary key (edition, lane, partition, sequence)
) with (autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 10000,
    autovacuum_vacuum_cost_delay = 0);
-- One row at most. All open rows that the snapshot `seen` saw and that have a lane are listed in `edition`, up to the sequence
-- `through` while it is being made; null when it is whole. What `seen` did not see is looked through by whoever asks.
create unlogged table waybill.lane_list (
    one boolean primary key default true check (one),
    -- Of the tables it was made from.
    generation text not null,
    edition bigint not null,
    seen pg_snapshot not null,
    -- How far sequences were drawn then.
    drawn bigint not null,
    through bigint,
    listed bigint not null,
    -- With more rows than this most of them are of what is gone, and the next edition is made.
    listed_max bigint not null,
    -- Of sequences, that the next step looks at.
    width bigint not null default 0,
    -- The first edition of which rows may be left, and the last of them that was deleted.
    oldest bigint not null default 0,
    gone_lane bigint not null default -9223372036854775808,
    gone_partition integer not null default 0,
    gone_sequence bigint not null default 0
);

-- Which life of the store this is: another cluster, a promoted standby, and tables restored from a backup
-- each are another one, and tokens of the old one prove nothing there. (pg_control_checkpoint() lags
-- behind a promotion.) In plpgsql, whose plans last as long as the session: one in SQL is parsed and planned
-- whenever it is called, which takes twice as long as all it does.
create function waybill.generation() returns text
language plpgsql stable parallel safe as $$
begin
    return (
        select system_identifier || '/' || 'waybill.open'::regclass::oid || '/'
            || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
        from pg_control_system());
end
$$;

-- For scans, so that they do not walk over all that was deleted and is still in the index while somebody
-- holds an old snapshot: every row of the partition up to the sequence `through` that is open is in
-- `still_open`, or was. It is true for ever, whoever wrote it: all transactions that had drawn a
-- sequence up to there had ended, so that no row will appear there, and those that are listed can only go.
create table waybill.low_water (
    partition integer primary key,
    through bigint not null,
    still_open bigint[] not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- When the last open row of a message went: where retention looks. `held` by its dead letters. By days, as
-- messages are, and dropped with theirs.
create table waybill.finished (
    id uuid not null,
    at bigint not null,
    box integer not null,
    held boolean not null
) partition by range (id);
create index finished_age on waybill.finished (box, held, at);
create index finished_held on waybill.finished (id) where held;
create table waybill.finished_other partition of waybill.finished default;

-- A dead letter needs no copy of its message here: the message stays as long as anything of it is dead.
-- Who adds, withdraws or requeues one holds a lock on its message's row.
create table waybill.dead (
    number bigint generated always as identity primary key,
    message bigint not null,
    box integer not null,
    sequence bigint not null,
    target text not null,
    reason text not null,
    failures bigint not null,
    requeues integer not null,
    because text not null,
    at bigint not null
);
create unique index dead_delivery on waybill.dead (message, target);
create index dead_age on waybill.dead (box, at, number);

-- `box` is here for retention, which goes by age.
create table waybill.attempt (
    message bigint not null,
    target text not null,
    requeues integer not null,
    number bigint not null,
    box integer not null,
    result smallint not null,
    at bigint not null,
    took bigint not null,
    error text not null,
    detail text not null default '',
    primary key (message, target, requeues, number)
);
create index attempt_age on waybill.attempt (box, at);

-- Outlives its message. `until` is null for ever.
create table waybill.dedup (
    scope text not null,
    key text not null,
    id uuid not null,
    body_hash bytea not null,
    duplicates bigint not null default 0,
    until bigint,
    primary key (scope, key)
);
create index dedup_until on waybill.dedup (until) where until is not null;

create table waybill.command (
    id bigint generated always as identity primary key,
    partition integer not null,
    kind smallint not null,
    message uuid not null,
    sequence bigint not null,
    target text not null,
    answered boolean not null default false,
    carried_out boolean not null default false,
    text text not null default ''
);
create index command_waiting on waybill.command (partition, id) where not answered;

-- Small texts that tools keep beside the messages. `until` is null for ever.
create table waybill.note (
    name text collate "C" primary key,
    text text not null,
    until bigint
);
create index note_until on waybill.note (until) where until is not null;
