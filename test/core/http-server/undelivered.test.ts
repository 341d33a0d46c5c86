import { expect, test } from 'vitest';
import { Undelivered } from '../../../src/core/http-server/pipelining.js';

test('answers wait for room, in their order, and a slow client loses its own', async () => {
  let now = 0;
  const room = new Undelivered({ most: 1_000_000, graceMs: 5000, now: () => now });
  const dropped: string[] = [];
  const enter = (name: string) => room.enter(() => dropped.push(name));
  const slow = await enter('slow');
  room.ready(slow, 2_000_000);
  const entered: string[] = [];
  const others = ['first', 'second'].map(async (name) => {
    const held = await enter(name);
    entered.push(name);
    room.ready(held, 10);
    return held;
  });
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect([entered, dropped]).toEqual([[], []]);
  now = 5001;
  const held = await Promise.all(others);
  expect([entered, dropped]).toEqual([['first', 'second'], ['slow']]);
  room.leave(slow);
  expect(room.bytes).toBe(20);
  for (const one of held) room.leave(one);
  for (const one of held) room.leave(one);
  expect(room.bytes).toBe(0);
});
