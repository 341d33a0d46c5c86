import { expect, test } from 'vitest';
import { ReadFailure } from '../../../src/engine/retry/read-failure.js';
import { LedgerlakeError, usageError } from '../../../src/core/errors.js';
import { turnFault } from '../../../src/app/fleet/run-turn.js';

test('what somebody has to mend is permanent, whatever status it came with', () => {
  expect(turnFault(usageError('no such account'))).toBe('permanent');
  expect(turnFault(new LedgerlakeError('SIGN_IN_REFUSED', 'the refresh token'))).toBe('permanent');
  expect(turnFault(new ReadFailure('denied', 'UPSTREAM_STATUS', '403', { status: 403 }))).toBe('permanent');
});

test('what passes by itself, and what nobody knows, is tried again', () => {
  expect(turnFault(new ReadFailure('throttled', 'UPSTREAM_STATUS', '429', { status: 429 }))).toBe('transient');
  expect(turnFault(new LedgerlakeError('LAKE_STORE', 'the disk is full'))).toBe('transient');
  expect(turnFault(new TypeError('undefined is not a function'))).toBe('transient');
});
