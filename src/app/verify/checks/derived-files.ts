import type { StagedCheck } from '../common/check.js';

export const derivedFilesCheck: StagedCheck = {
  name: 'derived-files',
  about: 'each slice has all of its files, and no other',
  counts: 'files',
  takenOut: 'file',
  catalog: ({ files, certificate }) => {
    certificate.count(derivedFilesCheck, files.length);
    const mains = new Set(files.flatMap(({ main, file }) => (main === undefined ? file : [])));
    for (const file of files) {
      if (file.main === undefined || mains.has(file.main)) continue;
      const problem = `its rows are derived from ${file.main}, which the catalog lacks`;
      certificate.add(derivedFilesCheck, 'lake', file, problem);
    }
  },
};
