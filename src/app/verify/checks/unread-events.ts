import { groupBy } from '../../../core/group-by.js';
import { storedPipelines } from '../../coverage/stored-pipelines.js';
import { placeText, unreadEvents } from '../../unread-events.js';
import type { CheckDefinition } from '../common/check.js';
import { locationIn } from '../common/checked-files.js';

export const unreadEventsCheck: CheckDefinition = {
  name: 'unread-events',
  about: 'each event of what is loaded could be read',
  counts: 'slices',
  catalog: ({ lake, accounts, files, certificate }) => {
    for (const account of accounts) {
      const unread = groupBy(unreadEvents(lake, account), ({ pipeline }) => pipeline);
      for (const pipeline of storedPipelines(lake)) {
        const at = locationIn(files, pipeline, account);
        certificate.count(unreadEventsCheck, lake.snapshot.keysOf(account, pipeline.name).size);
        for (const event of unread.get(pipeline.name) ?? [])
          certificate.add(unreadEventsCheck, 'note', at(event.load_key), `left out: ${placeText(event)}`);
      }
    }
  },
};
