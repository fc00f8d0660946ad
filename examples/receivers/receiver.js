#!/usr/bin/env node
// Receives webhooks from Waybill, with nothing but Node's own modules.
//
//     WEBHOOK_SECRETS='whsec_…' node receiver.js 9000
//
// WEBHOOK_SECRETS: one or more, separated by spaces; any may match, so that the sender can rotate.
// WEBHOOK_SET: "standard" (as the sender is set up unless told otherwise) or "outbox".
'use strict';

const crypto = require('node:crypto');
const http = require('node:http');

const BODY_BYTES_MAX = 1 << 20;

// [verify]
const TOLERANCE_SECONDS = 5 * 60;

class Refused extends Error {}

function needed(headers, name) {
  const value = headers[name];
  if (!value) throw new Refused(`there is no ${name}`);
  return value;
}

function checkTime(text, now) {
  if (!/^[0-9]{1,11}$/.test(text)) throw new Refused('the timestamp is not a number of seconds');
  if (Math.abs(now - Number(text)) > TOLERANCE_SECONDS) {
    throw new Refused('the timestamp is too old or too far ahead');
  }
}

function sameBytes(left, right) {
  return left.length === right.length && crypto.timingSafeEqual(left, right);
}

// The first bytes of an Ed25519 public key in DER; 32 bytes follow.
const ED25519_DER = Buffer.from('302a300506032b6570032100', 'hex');

function matches(secret, signed, version, signature) {
  if (secret.startsWith('whpk_')) {
    if (version !== 'v1a') return false;
    const der = Buffer.concat([ED25519_DER, Buffer.from(secret.slice(5), 'base64')]);
    const key = crypto.createPublicKey({ key: der, format: 'der', type: 'spki' });
    return crypto.verify(null, signed, key, signature);
  }
  if (version !== 'v1') return false;
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  return sameBytes(crypto.createHmac('sha256', key).update(signed).digest(), signature);
}

// Standard Webhooks: the id, the time and the body are signed. Returns the message's id.
function verifyStandard(headers, body, secrets, now) {
  const id = needed(headers, 'webhook-id');
  const timestamp = needed(headers, 'webhook-timestamp');
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  for (const item of needed(headers, 'webhook-signature').split(' ')) {
    const comma = item.indexOf(',');
    const signature = Buffer.from(item.slice(comma + 1), 'base64');
    if (secrets.some((secret) => matches(secret, signed, item.slice(0, comma), signature))) {
      checkTime(timestamp, now);
      return id;
    }
  }
  throw new Refused('no signature is right with any secret');
}

// X-Outbox-…: the body alone is signed, by the secret as it is written.
function verifyOutbox(headers, body, secrets, now) {
  const offered = Buffer.from(needed(headers, 'x-outbox-signature'));
  for (const secret of secrets) {
    const code = crypto.createHmac('sha256', secret).update(body).digest('hex'); // in lower case
    if (sameBytes(Buffer.from(`sha256=${code}`), offered)) {
      checkTime(needed(headers, 'x-outbox-timestamp'), now);
      return needed(headers, 'x-outbox-message-id');
    }
  }
  throw new Refused('the signature is not right with any secret');
}
// [/verify]

// [handle]
const handled = new Set(); // in a real service: a table, written in the transaction that does the work

// What to answer: a status and a word.
function receive(headers, body, verify, secrets) {
  let id;
  try {
    id = verify(headers, body, secrets, Date.now() / 1000);
  } catch (why) {
    if (why instanceof Refused) return [400, why.message];
    throw why;
  }
  // A message may come more than once: its answer got lost, or its sender crashed.
  const key = `${id} ${headers['x-outbox-subscription-id'] ?? ''}`;
  if (handled.has(key)) return [200, 'duplicate'];
  console.log('handled', id); // your work
  handled.add(key);
  return [200, 'handled'];
}
// [/handle]

const secrets = (process.env.WEBHOOK_SECRETS ?? '').split(' ').filter(Boolean);
const verify = process.env.WEBHOOK_SET === 'outbox' ? verifyOutbox : verifyStandard;
if (secrets.length === 0) {
  console.error('set WEBHOOK_SECRETS to what the sender signs with');
  process.exit(1);
}

const server = http.createServer((request, response) => {
  const pieces = [];
  let bytes = 0;
  const answer = (status, word) => {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ status: word }));
  };
  request.on('data', (piece) => {
    bytes += piece.length;
    if (bytes <= BODY_BYTES_MAX) pieces.push(piece);
  });
  request.on('end', () => {
    if (request.method !== 'POST') return answer(405, 'webhooks are sent with POST');
    if (bytes > BODY_BYTES_MAX) return answer(413, 'the body is too large');
    // The bytes as they came: parsed and written again they would not be the same.
    return answer(...receive(request.headers, Buffer.concat(pieces), verify, secrets));
  });
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/`);
});
