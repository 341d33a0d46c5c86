import { LedgerlakeError, messageOf, systemCode } from '../../core/errors.js';

const advice: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; give this user read and write access to it, or choose another --lake',
  EPERM: 'the system does not permit it; check its owner and its mount options, or choose another --lake',
  ENOSPC: 'the disk is full; free space and run again, what was committed stays',
  EDQUOT: 'the disk quota is used up; free space and run again, what was committed stays',
  EROFS: 'the file system is read-only; mount it for writing or choose another --lake',
  ENOENT:
    'a folder of the path is missing and cannot be created; check where its symbolic links lead, or choose another --lake',
  ENOTDIR: 'a part of the path is a file or a broken link, not a folder; choose another --lake or move that file away',
  EISDIR: 'it is a folder, not a file; move it away',
  EEXIST: 'it is a file, not a folder; choose another --lake or move that file away',
  ENAMETOOLONG: 'the name is too long for this file system; choose a shorter account id or --lake',
  EMFILE: 'too many files are open; raise the limit (ulimit -n)',
  ENFILE: 'too many files are open on this machine; close other programs or raise its limit',
  EIO: 'the disk reports an input/output error; check the disk before you run again',
  ELOOP: 'its symbolic links form a loop; remove one of them',
  EFBIG: 'it is larger than the file system allows; choose another --lake',
  ESTALE: 'the network file system lost it; mount it again and run again',
};

/** The error for a failed file system call: the path, the fault and the advice. */
export function diskFailure(verb: 'read' | 'write' | 'list' | 'remove', path: string, error: unknown): LedgerlakeError {
  if (error instanceof LedgerlakeError) return error;
  const code = systemCode(error);
  const what = (code === undefined ? undefined : advice[code]) ?? messageOf(error);
  return new LedgerlakeError('LAKE_STORE', `cannot ${verb} ${path}: ${what}${code === undefined ? '' : ` (${code})`}`, {
    cause: error,
    details: messageOf(error),
  });
}
