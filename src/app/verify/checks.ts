/** What a check looks at, and how its count is called. */
interface CheckAbout {
  readonly about: string;
  readonly counts: string;
}

/** Every check by its stable name, in the order of the certificate. */
export const checks = {
  'log-tags': { about: 'the log says of each file what it holds', counts: 'files' },
  'derived-files': { about: 'each slice has all of its files, and no other', counts: 'files' },
  windows: { about: 'windows read do not overlap, and none crosses a month', counts: 'slices' },
  'file-bytes': { about: 'each file is there with the size and SHA-256 that the log says', counts: 'files' },
  'unnamed-files': { about: 'no file in a partition folder that the log does not name', counts: 'files' },
  parquet: { about: 'each file can be read as its table', counts: 'files' },
  'row-counts': { about: 'each file has as many rows as the log says', counts: 'rows' },
  statistics: { about: 'the statistics in the log hold', counts: 'files' },
  partitions: { about: 'rows lie in the folder and the slice that they belong to', counts: 'files' },
  positions: { about: 'no place within a slice comes twice', counts: 'events' },
  'event-ids': { about: 'content_hash and event_id follow from raw', counts: 'events' },
  amounts: { about: 'each money object of raw is one entry, to the digit', counts: 'amounts' },
  roles: { about: 'role and kind of each entry are those of its path', counts: 'amounts' },
  'unique-ids': { about: 'no event_id and no entry comes twice', counts: 'events' },
  'net-sums': { about: 'net sums in the log are those of the rows', counts: 'files' },
  'event-dates': { about: 'events by date lie within the window that was asked for', counts: 'events' },
  'group-totals': { about: 'net of each closed group is its total less its beginning balance', counts: 'groups' },
  'date-against-group': { about: 'by date and by group the same events came', counts: 'groups' },
} as const satisfies Record<string, CheckAbout>;

export type CheckName = keyof typeof checks;

export const checkNames = Object.keys(checks) as readonly CheckName[];
