import { derivedRowsRemedy } from '../../coverage/damaged-rows.js';
import type { CheckDefinition } from '../common/check.js';

export const rolesCheck: CheckDefinition = {
  name: 'roles',
  about: 'each entry has the role and kind of its path',
  counts: 'amounts',
  remedy: derivedRowsRemedy,
  event: ({ eventId, file, list, rules, walked, isProved, entries, amounts }, { certificate }) => {
    certificate.count(rolesCheck, amounts);
    const fault = isProved || typeof walked === 'string' ? undefined : rules.rolesFault(list, walked, entries);
    certificate.addRow(rolesCheck, file, 'event', fault && `${eventId} ${fault}`);
  },
};
