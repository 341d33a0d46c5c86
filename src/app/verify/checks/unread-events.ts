import { storedPipelines } from '../../coverage/stored-pipelines.js';
import { holeText } from '../../unread-events.js';
import type { CheckDefinition } from '../common/check.js';
import { locationIn } from './windows.js';

export const unreadEventsCheck: CheckDefinition = {
  name: 'unread-events',
  about: 'each event of what is loaded could be read',
  counts: 'slices',
  catalog: ({ lake, accounts, files, certificate }) => {
    for (const account of accounts) {
      for (const pipeline of storedPipelines(lake)) {
        const at = locationIn(files, pipeline, account);
        const keys = lake.snapshot.keysOf(account, pipeline.name);
        certificate.count(unreadEventsCheck, keys.size);
        for (const [key, { holes = [] }] of keys) {
          for (const hole of holes) certificate.add(unreadEventsCheck, 'note', at(key), `left out: ${holeText(hole)}`);
        }
      }
    }
  },
};
