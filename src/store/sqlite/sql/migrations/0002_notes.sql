-- Small texts that tools keep beside the messages. `until` is null for ever.
create table waybill_note (
    name text not null primary key,
    text text not null,
    until integer
) strict, without rowid;
create index waybill_note_until on waybill_note (until) where until is not null;
