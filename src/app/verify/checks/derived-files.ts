import type { CheckDefinition } from '../common/check.js';

export const derivedFilesCheck: CheckDefinition = {
  name: 'derived-files',
  about: 'each slice has all of its files, and no other',
  counts: 'files',
  takenOut: 'file',
  catalog: ({ files, certificate }) => {
    certificate.count(derivedFilesCheck, files.length);
    const mains = new Set(files.flatMap(({ dataFile, file }) => (dataFile.main === undefined ? file : [])));
    for (const file of files) {
      const { main } = file.dataFile;
      if (main === undefined || mains.has(main)) continue;
      const problem = `its rows are derived from ${main}, which the catalog lacks`;
      certificate.add(derivedFilesCheck, 'lake', file, problem);
    }
  },
};
