import { basename } from 'node:path';
import { usageError } from '../../core/errors.js';
import type { CommandDefinition } from '../options/command-definition.js';

const shells = ['bash', 'zsh', 'fish'] as const;

export const completionCommand: CommandDefinition = {
  name: 'completion',
  positional: {
    name: 'SHELL',
    many: false,
    choices: shells,
    about: 'bash, zsh or fish [default: from the variable SHELL]',
  },
  about: "Print a shell's completion script",
  description:
    'Prints a script that completes commands, options, their values, pipelines and configured accounts on Tab. In bash and ' +
    'zsh, Tab completes file names if none of these matches. It calls ' +
    '`ledgerlake`: install the package globally, or have its node_modules/.bin in PATH.\n\n' +
    '  bash  source <(ledgerlake completion bash)   in ~/.bashrc; bash 4 or later\n' +
    '  zsh   source <(ledgerlake completion zsh)    in ~/.zshrc, after compinit\n' +
    '  fish  ledgerlake completion fish | source    in ~/.config/fish/config.fish',
  options: {},
  examples: [['completion bash', 'prints the script for bash']],
  run: (args, { printCompletion }) => {
    const named = args.text('SHELL') ?? basename(process.env['SHELL'] ?? '');
    if (!shells.some((shell) => shell === named)) {
      throw usageError(`expected a shell (${shells.join(', ')}), got ${JSON.stringify(named)}; name one of them`);
    }
    printCompletion(named);
    return Promise.resolve(0);
  },
};
