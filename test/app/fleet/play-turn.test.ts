import { expect, test } from 'vitest';
import { ReadFailure } from '../../../src/engine/retry/read-failure.js';
import { LedgerlakeError, usageError } from '../../../src/core/errors.js';
import { turnFault } from '../../../src/app/fleet/play-turn.js';

test('what somebody has to mend is lasting, whatever status it came with', () => {
  expect(turnFault(usageError('no such account'))).toBe('lasting');
  expect(turnFault(new LedgerlakeError('SIGN_IN_REFUSED', 'the refresh token'))).toBe('lasting');
  expect(turnFault(new ReadFailure('denied', 'UPSTREAM_STATUS', '403', { status: 403 }))).toBe('lasting');
});

test('what passes by itself, and what nobody knows, is tried again', () => {
  expect(turnFault(new ReadFailure('throttled', 'UPSTREAM_STATUS', '429', { status: 429 }))).toBe('passing');
  expect(turnFault(new LedgerlakeError('LAKE_STORE', 'the disk is full'))).toBe('passing');
  expect(turnFault(new TypeError('undefined is not a function'))).toBe('passing');
});
