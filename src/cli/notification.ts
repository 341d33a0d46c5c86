import { postNotification, type Notification } from '../app/notification.js';
import { configurationOf } from './options/command-settings.js';
import type { CommandArguments } from './options/command-definition.js';
import { resolveLogSettings, type LogSettings } from '../app/configuration/settings.js';
import type { Clock } from '../core/clock.js';
import { LedgerlakeError, messageOf } from '../core/errors.js';
import { openLog } from './listener.js';

/** The time to post a notification; once a signal has stopped the command, which then has ten seconds to end. */
const limitMs = { usual: 30_000, stopped: 4000 };

/**
 * Posts how a command has ended to the address of the setting `notify`, if there is one. Never throws: a failure is an error in the log, and
 * doesn't change the exit code.
 */
export async function notify(
  args: CommandArguments,
  notification: Notification,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const settings = await settingsOf(args);
  if (settings?.notify === undefined) return;
  const limit = signal.aborted ? limitMs.stopped : limitMs.usual;
  try {
    await postNotification(settings.notify, notification, { clock, limitMs: limit });
  } catch (error) {
    const verbosity = { verbose: args.flag('verbose'), quiet: args.flag('quiet') };
    const log = await openLog(settings.logFormat, verbosity, clock);
    log.emit({ event: 'notify-failed', reason: messageOf(error) });
    await log.close();
  }
}

/** The settings of the environment and the configuration; where that is invalid, of the environment alone. */
async function settingsOf(args: CommandArguments): Promise<LogSettings | undefined> {
  const unconfigured = { folder: process.cwd(), settings: {} };
  for (const read of [() => configurationOf(args), () => Promise.resolve(unconfigured)]) {
    try {
      return resolveLogSettings(args.texts(), process.env, await read());
    } catch (error) {
      if (!(error instanceof LedgerlakeError)) throw error;
    }
  }
  return undefined;
}
