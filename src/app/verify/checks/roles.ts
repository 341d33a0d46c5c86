import { derivedRowsRemedy } from '../../coverage/damaged-rows.js';
import type { StagedCheck } from '../common/check.js';

export const rolesCheck: StagedCheck = {
  name: 'roles',
  about: 'each entry has the role and kind of its path',
  counts: 'amounts',
  remedy: derivedRowsRemedy,
  event: {
    count: (event) => event.amounts,
    fault: ({ eventId, list, rules, walked, isProved, entries }) => {
      const fault = isProved || typeof walked === 'string' ? undefined : rules.rolesFault(list, walked, entries);
      return fault && `${eventId} ${fault}`;
    },
  },
};
