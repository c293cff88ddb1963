// Compiles the contracts beside it, each to the hexadecimal code that deploys
// it (*.bin). The code is reproduced byte for byte by solc 0.8.37 with the
// settings below. The compiler is looked for beside this file, so copy the file
// to an empty directory outside the repository, and there:
//
//   npm install solc@0.8.37
//   node compile.mjs <directory of the contracts>
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import solc from "solc";

const directory = process.argv[2];
const sources = {};
for (const name of readdirSync(directory).filter((n) => n.endsWith(".sol"))) {
  sources[name] = { content: readFileSync(join(directory, name), "utf8") };
}
const output = JSON.parse(
  solc.compile(
    JSON.stringify({
      language: "Solidity",
      sources,
      settings: {
        evmVersion: "shanghai",
        optimizer: { enabled: true, runs: 200 },
        metadata: { appendCBOR: false, bytecodeHash: "none" },
        outputSelection: { "*": { "*": ["evm.bytecode.object"] } },
      },
    }),
  ),
);
for (const { formattedMessage } of output.errors ?? []) console.error(formattedMessage);
for (const contracts of Object.values(output.contracts ?? {})) {
  for (const [name, { evm }] of Object.entries(contracts)) {
    writeFileSync(join(directory, name + ".bin"), evm.bytecode.object + "\n");
  }
}
process.exitCode = (output.errors ?? []).some((e) => e.severity === "error") ? 1 : 0;
