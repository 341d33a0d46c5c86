// Examines a lake and all that its nights need, and prints what must be done, for an alert.
//
//   node doctor.mjs [LAKE]
import { doctor } from 'ledgerlake';

const [, , lake = 'data/lake'] = process.argv;

const { state, findings } = await doctor({ lake, maxLag: '2d' });
for (const { group, state: of, found, command } of findings) {
  if (of === 'ok') continue;
  console.log(`${of} of ${group}: ${found}`);
  if (command !== null) console.log(`  ${command}`);
}
console.log(`the state is ${state}`);
process.exitCode = state === 'fault' ? 1 : 0;
