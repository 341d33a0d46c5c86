import { execFileSync } from 'node:child_process';
import {
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type DiskOptions, diskStore, diskFailure } from '../../../src/lake/store/disk.js';
import { thisWriter } from '../../../src/lake/store/writer-name.js';
import { HandClock } from '../../core/clock.js';
import { compileDiskStore, firstOutput, outputOf, runOnLake } from '../disk-writer.js';
import { pathsOf, storeContract } from '../store-contract.js';

const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'ledgerlake-disk-'));
const bytes = Buffer.from('bytes');

const systemError = (code: string): Error => Object.assign(new Error(code), { code });

const placeOf = (options: DiskOptions) => async () => {
  const folder = await newFolder();
  return {
    open: () => diskStore(join(folder, 'not/made/yet'), options),
    close: () => rm(folder, { recursive: true }),
  };
};

storeContract('A disk', placeOf({}), 25);
storeContract('A disk without hard links', placeOf({ link: () => Promise.reject(systemError('EPERM')) }), 3);

describe('A lake on disk', () => {
  let lake: string;
  beforeEach(async () => {
    lake = await newFolder();
  });
  afterEach(() => rm(lake, { recursive: true, force: true }));

  const temporaries = (): Promise<string[]> => readdir(join(lake, '_tmp'));
  const paths = (): Promise<string[]> => pathsOf(diskStore(lake).list(''));

  test('leaves no temporary file behind, whoever wins', async () => {
    const store = diskStore(lake);
    await store.write('a/b', bytes);
    await store.create('a/c', bytes);
    await store.create('a/c', bytes);
    expect(await temporaries()).toEqual([]);
    expect(await readdir(join(lake, 'a'))).toEqual(['b', 'c']);
  });

  test('leaves no temporary file behind when writing fails', async () => {
    const store = diskStore(lake);
    await mkdir(join(lake, 'taken/by/a/folder'), { recursive: true });
    await expect(store.write('taken/by', bytes)).rejects.toMatchObject({ code: 'LAKE_STORE' });
    const refused = diskStore(lake, { link: () => Promise.reject(systemError('EIO')) });
    await expect(refused.create('file', bytes)).rejects.toMatchObject({ code: 'LAKE_STORE' });
    expect(await temporaries()).toEqual([]);
    expect(await paths()).toEqual([]);
  });

  test('counts a link that was made although the system said it was there already as won', async () => {
    const store = diskStore(lake, {
      link: async (existing, path) => {
        await link(existing, path);
        throw systemError('EEXIST');
      },
    });
    expect(await store.create('file', bytes)).toBe(true);
    expect(await diskStore(lake).read('file')).toEqual(bytes);
  });

  test('makes its folders again when they are taken away', async () => {
    const store = diskStore(lake);
    await store.write('a/b/c', bytes);
    await rm(join(lake, 'a'), { recursive: true });
    await rm(join(lake, '_tmp'), { recursive: true });
    await store.write('a/b/c', bytes);
    await rm(join(lake, 'a'), { recursive: true });
    expect(await store.create('a/b/c', bytes)).toBe(true);
    expect(await paths()).toEqual(['a/b/c']);
  });

  test('passes over links to folders and files, broken ones too, and over what is no file', async () => {
    const store = diskStore(lake);
    await store.write('real/file', bytes);
    await symlink(join(lake, 'real'), join(lake, 'linked'));
    await symlink(join(lake, 'real/file'), join(lake, 'alias'));
    await symlink(join(lake, 'nothing'), join(lake, 'broken'));
    execFileSync('mkfifo', [join(lake, 'real/pipe')]);
    expect(await paths()).toEqual(['real/file']);
  });

  test('may be behind a link itself', async () => {
    await diskStore(lake).write('real/file', bytes);
    const other = await newFolder();
    await symlink(lake, join(other, 'lake'));
    const store = diskStore(join(other, 'lake'));
    expect(await pathsOf(store.list(''))).toEqual(['real/file']);
    expect(await store.read('real/file')).toEqual(bytes);
    await store.remove('real/file');
    expect(await pathsOf(store.list(''))).toEqual([]);
    await rm(other, { recursive: true });
  });

  describe('with links that lead out of it', () => {
    let outside: string;
    beforeEach(async () => {
      outside = await newFolder();
      await writeFile(join(outside, 'canary'), 'canary');
    });
    afterEach(async () => {
      // Whatever was done, what lies outside is as it was.
      expect(await readdir(outside)).toEqual(['canary']);
      expect(await readFile(join(outside, 'canary'), 'utf8')).toBe('canary');
      await rm(outside, { recursive: true });
    });
    const refusal = { code: 'LAKE_STORE', message: expect.stringMatching(/got the symbolic link/) as unknown };

    test('neither reads, lists, writes nor removes through a folder', async () => {
      const store = diskStore(lake);
      await store.write('events/x', bytes);
      await symlink(outside, join(lake, 'events/month'));
      await expect(store.read('events/month/canary')).rejects.toMatchObject(refusal);
      await expect(store.readRange('events/month/canary', 0, 3)).rejects.toMatchObject(refusal);
      await expect(store.write('events/month/new', bytes)).rejects.toMatchObject(refusal);
      await expect(store.write('events/month/deeper/new', bytes)).rejects.toMatchObject(refusal);
      await expect(store.create('events/month/new', bytes)).rejects.toMatchObject(refusal);
      await expect(store.remove('events/month/canary')).rejects.toMatchObject(refusal);
      expect(() => store.list('events/month')).toThrow(/got the symbolic link/);
      expect(() => store.address('events/month/canary')).toThrow(/got the symbolic link/);
      expect(await pathsOf(store.list(''))).toEqual(['events/x']);
    });

    test('does not read a file through a link, and removes the link alone', async () => {
      const store = diskStore(lake);
      await store.write('events/x', bytes);
      await symlink(join(outside, 'canary'), join(lake, 'events/y'));
      await expect(store.read('events/y')).rejects.toMatchObject(refusal);
      expect(() => store.address('events/y')).toThrow(/got the symbolic link/);
      expect(await store.create('events/y', bytes)).toBe(false);
      await store.write('events/y', bytes);
      expect(await store.read('events/y')).toEqual(bytes);
      await symlink(join(outside, 'canary'), join(lake, 'events/z'));
      await store.remove('events/z');
      expect(await readdir(join(lake, 'events'))).toEqual(['x', 'y']);
    });

    test('clears no folder in the place of its temporary one', async () => {
      await symlink(outside, join(lake, '_tmp'));
      const store = diskStore(lake);
      await expect(store.removeUnfinished(true)).rejects.toMatchObject(refusal);
      await expect(store.write('x', bytes)).rejects.toMatchObject(refusal);
    });
  });

  test.each(['../canary', 'events/../../canary', '/etc/passwd', 'events//x'])('has no address for %j', (path) => {
    expect(() => diskStore(lake).address(path)).toThrow(/expected a path within the lake/);
  });

  test('names a FIFO instead of waiting for it', async () => {
    execFileSync('mkfifo', [join(lake, 'pipe')]);
    const refusal = { code: 'LAKE_STORE', message: expect.stringMatching(/pipe, which is a FIFO/) as unknown };
    await expect(diskStore(lake).read('pipe')).rejects.toMatchObject(refusal);
    await expect(diskStore(lake).readRange('pipe', 0, 1)).rejects.toMatchObject(refusal);
    expect(() => diskStore(lake).address('pipe')).toThrow(/pipe, which is a FIFO/);
  });

  test('lists on while files and folders vanish', async () => {
    const store = diskStore(lake);
    for (let at = 10; at < 90; at++) await store.write(`a/${at}`, bytes);
    await store.write('b/c', bytes);
    const seen = [];
    for await (const { path } of store.list('')) {
      seen.push(path);
      if (path === 'a/10') await Promise.all([rm(join(lake, 'b'), { recursive: true }), unlink(join(lake, 'a/89'))]);
    }
    expect(seen).toContain('a/88');
    expect(seen).not.toContain('a/89');
    expect(seen).not.toContain('b/c');
  });

  describe('swept', () => {
    const now = Date.parse('2024-03-01T00:00:00Z');
    const hour = 3_600_000;
    const leave = async (name: string, age: number): Promise<void> => {
      await mkdir(join(lake, '_tmp'), { recursive: true });
      await writeFile(join(lake, '_tmp', name), 'half');
      await utimes(join(lake, '_tmp', name), (now - age) / 1000, (now - age) / 1000);
    };
    const sweep = (): Promise<number> => diskStore(lake, { clock: new HandClock(now) }).removeUnfinished();

    test('loses what dead writers of this machine left, at any age', async () => {
      const { machine, pid, start } = await thisWriter();
      // Pids end at 4,194,304.
      await leave(`${machine}-4194305-123-00000000-0`, 0);
      await leave(`${machine}-${pid}-${start}1-00000000-0`, 0);
      expect(await sweep()).toBe(2);
      expect(await temporaries()).toEqual([]);
    });

    test('keeps what a running writer of this machine has, at any age', async () => {
      const { machine, pid, start } = await thisWriter();
      await leave(`${machine}-${pid}-${start}-00000000-0`, 99 * 24 * hour);
      // Init, started when this file system can't say.
      await leave(`${machine}-1-0-00000000-0`, 99 * 24 * hour);
      expect(await sweep()).toBe(0);
      expect(await temporaries()).toHaveLength(2);
    });

    test("keeps another machine's for a day, and for good what no store named", async () => {
      await leave('00112233aabbccdd-1-1-00000000-0', 23 * hour);
      await leave('00112233aabbccdd-1-1-00000000-1', 25 * hour);
      await leave('notes.txt', 99 * 24 * hour);
      expect(await sweep()).toBe(1);
      expect(await temporaries()).toEqual(['00112233aabbccdd-1-1-00000000-0', 'notes.txt']);
      expect(await paths()).toEqual([]);
    });

    test('is fine without anything to sweep', async () => {
      expect(await sweep()).toBe(0);
    });
  });

  describe('shared by processes', () => {
    let code: string;
    let module: string;
    beforeEach(async () => {
      code = await newFolder();
      module = await compileDiskStore(code);
    });
    afterEach(() => rm(code, { recursive: true }));

    test('gives each of many names to exactly one of them', async () => {
      const script = `for (let at = 0; at < 40; at++) {
        if (await store.create('_delta_log/' + at + '.json', Buffer.from(String(process.pid)))) say(process.pid + ' ' + at);
      }`;
      const lines = await Promise.all([0, 1, 2].map(() => outputOf(runOnLake(module, lake, script))));
      const won = lines.flatMap((text) => text.trimEnd().split('\n')).filter((line) => line !== '');
      expect(won).toHaveLength(40);
      for (const line of won) {
        const [pid, at = ''] = line.split(' ');
        expect(await readFile(join(lake, '_delta_log', `${at}.json`), 'utf8')).toBe(pid);
      }
    });

    test('holds whole files only after a writer was killed, and sheds its leftovers', async () => {
      const size = 400_000;
      const script = `const bytes = new Uint8Array(${size}).fill(7);
      for (let at = 0; ; at++) {
        await Promise.all([store.write('t/w' + at % 50, bytes), store.create('t/c' + at, bytes)]);
        say('done');
      }`;
      for (let round = 0; round < 4; round++) {
        const child = runOnLake(module, lake, script);
        await firstOutput(child);
        const ended = outputOf(child);
        child.kill('SIGKILL');
        await ended;
        for await (const { path } of diskStore(lake).list('')) {
          expect(path.startsWith('t/')).toBe(true);
          const found = await readFile(join(lake, path));
          expect(found.length).toBe(size);
          expect(found.every((byte) => byte === 7)).toBe(true);
        }
      }
      const left = await temporaries();
      expect(await diskStore(lake).removeUnfinished()).toBe(left.length);
      expect(await temporaries()).toEqual([]);
    });

    test('keeps what a running process writes when another sweeps', async () => {
      const { machine } = await thisWriter();
      // Stopped by the system between its temporary file and its name.
      const child = runOnLake(
        module,
        lake,
        `await store.write('t/first', Buffer.alloc(9)); say('up'); setInterval(() => 0, 1000);`,
      );
      await firstOutput(child);
      const status = await readFile(`/proc/${String(child.pid)}/stat`, 'latin1').catch(() => undefined);
      const start = status?.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
      await writeFile(join(lake, '_tmp', `${machine}-${String(child.pid)}-${start}-00000000-0`), 'half');
      expect(await diskStore(lake).removeUnfinished()).toBe(0);
      const ended = outputOf(child);
      child.kill('SIGKILL');
      await ended;
      expect(await diskStore(lake).removeUnfinished()).toBe(1);
    });
  });

  describe('that can not be used', () => {
    test('is named when it is a file', async () => {
      const file = join(lake, 'file');
      await writeFile(file, 'x');
      const store = diskStore(file);
      const refused = { code: 'LAKE_STORE', message: expect.stringContaining(file) as unknown };
      await expect(store.read('a')).rejects.toMatchObject(refused);
      await expect(store.readRange('a', 0, 1)).rejects.toMatchObject(refused);
      await expect(store.write('a/b', bytes)).rejects.toMatchObject(refused);
      await expect(store.create('a', bytes)).rejects.toMatchObject(refused);
      await expect(store.remove('a')).rejects.toMatchObject(refused);
      await expect(store.removeUnfinished()).rejects.toMatchObject(refused);
      await expect(pathsOf(store.list(''))).rejects.toMatchObject(refused);
      expect((await stat(file)).size).toBe(1);
    });

    test.runIf(process.platform === 'linux')('is named where nobody may make a folder', async () => {
      await expect(diskStore('/sys/ledgerlake').write('a', bytes)).rejects.toMatchObject({
        code: 'LAKE_STORE',
        message: expect.stringMatching(
          /^cannot write \/sys\/ledgerlake\/a: .*(permi|read-only).*--lake.* \(E[A-Z]+\)$/,
        ) as unknown,
      });
    });

    test('is named when a link on its way leads nowhere', async () => {
      await symlink(join(lake, 'nowhere'), join(lake, 'link'));
      const message = expect.stringMatching(/^cannot write .*link.*--lake.* \(E[A-Z]+\)$/) as unknown;
      await expect(diskStore(join(lake, 'link')).write('a', bytes)).rejects.toMatchObject({
        code: 'LAKE_STORE',
        message,
      });
      await expect(diskStore(join(lake, 'link/lake')).create('a', bytes)).rejects.toMatchObject({ message });
    });

    test('is named when a name is too long', async () => {
      await expect(diskStore(lake).write('x'.repeat(300), bytes)).rejects.toThrow(/too long.*ENAMETOOLONG/);
    });

    test.runIf(process.platform === 'linux')('says what to do when the disk is full', async () => {
      const full: unknown = await writeFile('/dev/full', 'x').catch((error: unknown) => error);
      expect(diskFailure('write', '/lake/a', full).message).toBe(
        'cannot write /lake/a: the disk is full; free space and run again, what was committed stays (ENOSPC)',
      );
    });

    test.each(['EACCES', 'EROFS', 'EDQUOT', 'EIO'])('says what to do on %s', (code) => {
      expect(diskFailure('read', '/lake/a', systemError(code)).message).toMatch(
        new RegExp(`^cannot read /lake/a: .{20,} \\(${code}\\)$`),
      );
    });
  });
});
