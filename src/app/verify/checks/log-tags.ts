import type { CheckDefinition } from '../common/check.js';

export const logTagsCheck: CheckDefinition = {
  name: 'log-tags',
  about: 'the log describes each file',
  counts: 'files',
  takenOut: 'file',
  catalog: ({ files, undescribed, certificate }) => {
    certificate.count(logTagsCheck, files.length + undescribed.length);
    for (const { table, file, loadKey, fault } of undescribed)
      certificate.add(logTagsCheck, 'lake', { table, file, loadKey }, fault);
  },
};
