-- The tables of a store. They live beside the application's own tables in one file, hence the prefix.
-- Times are microseconds since 1970; 0 is "no time", the largest integer is "never".

-- One row: which timeline this is, how often the registry of targets changed, and how far waybill_lane
-- goes with how many rows.
create table waybill_store (
    generation text not null,
    registry_version integer not null,
    lanes_up_to integer not null default 0,
    lanes_rows integer not null default 0
) strict;

-- dedup_window and body_bytes_max are here for those who publish in their own transaction: they have
-- the file, not the options of the application.
create table waybill_box (
    id integer primary key,
    name text not null unique,
    paused integer not null default 0,
    dedup_window integer not null,
    body_bytes_max integer not null
) strict;

-- A range of slots of a box, and who owns it. A row changes only when it changes hands, or when its
-- owner says that it is leaving.
create table waybill_partition (
    id integer primary key,
    box integer not null,
    first_slot integer not null,
    last_slot integer not null,
    owner blob not null,
    epoch integer not null default 0,
    stopping integer not null default 0,
    heir blob not null,
    unclean_ends integer not null default 0,
    unclean_at integer
) strict;
create index waybill_partition_of_box on waybill_partition (box, first_slot);

create table waybill_target (
    box integer not null,
    key text not null,
    type text not null,
    source text not null,
    tenant text not null,
    legacy_keys blob,
    after text not null,
    after_dead integer not null,
    primary key (box, key)
) strict, without rowid;

-- Written once; `requeues` alone grows when people requeue or replay something of it. AUTOINCREMENT: a sequence is never issued twice, or a reader that
-- stands at the newest one would never see the next. The body comes last: whoever does not want
-- it does not follow its overflow pages.
create table waybill_message (
    sequence integer primary key autoincrement,
    id blob not null,
    partition integer not null,
    appended_at integer not null,
    occurred_at integer not null,
    not_before integer not null,
    type text not null,
    source text not null,
    content_type text not null,
    tenant text not null,
    user_id text not null,
    correlation_id text not null,
    lane text not null,
    dedup_key text not null,
    collapse_key text not null,
    requeues integer not null default 0,
    attributes blob,
    body blob not null
) strict;
create unique index waybill_message_id on waybill_message (id);

-- Open work: one narrow row per message that is not finished. Its key is its place: 16 bits of partition,
-- 1 bit for parked, 46 bits of sequence. So rows lie in the order of reading, each partition in a range of
-- its own, and parked ones apart, so that no reader of ready work walks over them; and one
-- integer is compared where three columns would be. `message` is the sequence of its message when that
-- is another one (after a requeue). `lane` is a hash: what reads by it compares the lane itself.
create table waybill_open (
    place integer primary key,
    id blob not null,
    lane integer,
    due integer not null,
    message integer,
    requeues integer not null default 0,
    halted integer not null default 0,
    strikes integer not null default 0,
    solo_epoch integer not null default 0,
    progress blob,
    only_targets blob,
    partition integer generated always as (place >> 47) virtual,
    parked integer generated always as ((place >> 46) & 1) virtual,
    sequence integer generated always as (place & 70368744177663) virtual
) strict;
-- Every index here is paid twice per message, so each is paid only by the rows that need it.
create index waybill_open_due on waybill_open (place >> 46, due) where due <> 0;
create index waybill_open_requeued on waybill_open (message) where message is not null;

-- Which rows of open work are in which lane, as of when somebody asked: most rows are finished before
-- anybody does. It has the rows up to waybill_store.lanes_up_to, and perhaps some that are finished.
create table waybill_lane (
    lane integer not null,
    partition integer not null,
    sequence integer not null,
    primary key (lane, partition, sequence)
) strict, without rowid;

-- When the last open row of a message went: where retention looks. `held` by its dead letters.
create table waybill_finished (
    box integer not null,
    held integer not null,
    at integer not null,
    message integer not null,
    primary key (box, held, at, message)
) strict, without rowid;
create index waybill_finished_held on waybill_finished (message) where held = 1;

-- A dead letter needs no copy of its message here: the message stays as long as anything of it is dead.
create table waybill_dead (
    number integer primary key autoincrement,
    message integer not null,
    box integer not null,
    sequence integer not null,
    target text not null,
    reason text not null,
    failures integer not null,
    requeues integer not null,
    because text not null,
    at integer not null
) strict;
create unique index waybill_dead_delivery on waybill_dead (message, target);
create index waybill_dead_age on waybill_dead (box, at);

-- `box` is here for retention, which goes by age.
create table waybill_attempt (
    message integer not null,
    target text not null,
    requeues integer not null,
    number integer not null,
    box integer not null,
    result integer not null,
    at integer not null,
    took integer not null,
    error text not null,
    detail text not null default '',
    primary key (message, target, requeues, number)
) strict, without rowid;
create index waybill_attempt_age on waybill_attempt (box, at);

-- Outlives its message. `until` is null for ever.
create table waybill_dedup (
    scope text not null,
    key text not null,
    id blob not null,
    body_hash blob not null,
    duplicates integer not null default 0,
    until integer,
    primary key (scope, key)
) strict, without rowid;
create index waybill_dedup_until on waybill_dedup (until) where until is not null;

create table waybill_command (
    id integer primary key autoincrement,
    partition integer not null,
    kind integer not null,
    message blob not null,
    sequence integer not null,
    target text not null,
    answered integer not null default 0,
    carried_out integer not null default 0,
    text text not null default ''
) strict;
create index waybill_command_waiting on waybill_command (partition) where answered = 0;
