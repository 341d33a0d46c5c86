/** Every check by its stable name, in the order of the certificate: what it proves, and what it counts. */
export const checks = {
  'log-tags': { about: 'the log describes each file', counts: 'files' },
  'derived-files': { about: 'each slice has all of its files, and no other', counts: 'files' },
  windows: { about: 'windows read do not overlap, and none crosses a month', counts: 'slices' },
  'asked-ranges': { about: 'what runs requested is loaded', counts: 'ranges' },
  'file-bytes': { about: 'each file has the size and SHA-256 of the log', counts: 'files' },
  'unnamed-files': { about: 'each file in a partition folder is in the log', counts: 'files' },
  parquet: { about: 'each file can be read as its table', counts: 'files' },
  'row-counts': { about: 'each file has the number of rows of the log', counts: 'rows' },
  statistics: { about: 'the statistics in the log are correct', counts: 'files' },
  partitions: { about: 'rows are in the folder and the slice that they belong to', counts: 'files' },
  positions: { about: 'no position within a slice occurs twice', counts: 'events' },
  'event-ids': { about: 'content_hash and event_id follow from raw', counts: 'events' },
  amounts: { about: 'each money object of raw is one entry, to the digit', counts: 'amounts' },
  roles: { about: 'each entry has the role and kind of its path', counts: 'amounts' },
  'unique-ids': { about: 'no event_id and no entry occurs twice', counts: 'events' },
  'net-sums': { about: 'net sums in the log equal the rows', counts: 'files' },
  'event-dates': { about: 'events by date are within the requested window', counts: 'events' },
  'group-totals': { about: 'net of each closed group equals its total less its beginning balance', counts: 'groups' },
  'paid-totals': { about: 'paid transactions of each closed group add up to the same', counts: 'groups' },
  'net-proceeds': { about: 'and those of each settlement to its net proceeds', counts: 'settlements' },
  'date-against-group': { about: 'the same events were received by date and by group', counts: 'groups' },
  'both-apis': { about: 'where v0 returned events, Finances 2024-06-19 returned transactions', counts: 'accounts' },
} as const;

export type CheckName = keyof typeof checks;

export const checkNames = Object.keys(checks) as readonly CheckName[];
