import { basename } from 'node:path';
import { usageError } from '../../core/errors.js';
import { sharedOptions, type CommandDefinition } from '../options/definition.js';

const shells = ['bash', 'zsh', 'fish'] as const;

/** `ledgerlake completion`, of these commands. */
export function completionCommand(commands: () => readonly CommandDefinition[]): CommandDefinition {
  return {
    name: 'completion',
    positional: { name: 'SHELL', many: false, choices: shells, about: 'bash, zsh or fish [default: by SHELL]' },
    about: "Print a shell's completion",
    more:
      'Prints a script that completes commands, options, pipelines, accounts and files on Tab:\n\n' +
      '  bash  source <(ledgerlake completion bash)          in ~/.bashrc\n' +
      '  zsh   source <(ledgerlake completion zsh)           in ~/.zshrc, behind compinit\n' +
      '  fish  ledgerlake completion fish | source           in ~/.config/fish/config.fish\n\n' +
      'It asks `ledgerlake completion accounts` for the names of the configured accounts.',
    options: { config: sharedOptions.config },
    passesConfiguration: true,
    examples: [['completion bash', "bash's"]],
    run: async (given, { print }) => {
      const shell = given.text('SHELL') ?? basename(process.env['SHELL'] ?? '');
      if (shell === 'accounts') {
        const { configuredNames } = await import('../../app/configuration/configured-names.js');
        const names = await configuredNames(given.text('config'), process.env, process.cwd());
        if (names.length > 0) print(names.join('\n'));
        return 0;
      }
      const [{ completedCommands }, { pipelines }] = await Promise.all([
        import('../completion/words.js'),
        import('../../../pipelines/all-pipelines.js'),
      ]);
      const completed = completedCommands(
        commands(),
        pipelines.map(({ name }) => name),
      );
      print((await scriptOf(shell))(completed).trimEnd());
      return 0;
    },
  };
}

async function scriptOf(shell: string) {
  switch (shell) {
    case 'bash':
      return (await import('../completion/bash.js')).bashCompletion;
    case 'zsh':
      return (await import('../completion/zsh.js')).zshCompletion;
    case 'fish':
      return (await import('../completion/fish.js')).fishCompletion;
    default:
      throw usageError(`expected a shell (${shells.join(', ')}), got ${JSON.stringify(shell)}: name one of them`);
  }
}
