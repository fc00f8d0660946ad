-- On the caller's own connection, by name.

-- name: publish_many
-- Everybody's: on a PGconn, by pqxx, and whatever prepare() is used with. Each parameter once, in order.
select status, id, sequence, partition, first_is_dead from waybill.publish_many(
    $1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::text[], $12::text[], $13::uuid[], $14::bigint[], $15::bigint[],
    $16::boolean, $17::boolean, $18::boolean);

-- name: guard
-- For whoever prepares it. Each parameter once, in order; an empty one is none.
select waybill.guard($1::text, $2::text, $3::text, nullif($4::text, '')::uuid,
    nullif($5::text, '')::interval, $6::text::interval, $7::text::boolean);

-- name: guard_and_moment
-- The same, and in which transaction: no two of a session begin in the same microsecond.
select waybill.guard($1::text, $2::text, $3::text, nullif($4::text, '')::uuid,
        nullif($5::text, '')::interval, $6::text::interval, $7::text::boolean),
    extract(epoch from now())::text;

-- name: moment
select extract(epoch from now())::text;
