// What the scripts share: each check prints one line of JSON, which the Go side counts.

export class Broken extends Error {}

export function must(condition, message) {
  if (!condition) throw new Broken(message);
}

export async function check(name, work) {
  try {
    await work();
    console.log(JSON.stringify({ check: name, ok: true }));
  } catch (error) {
    console.log(JSON.stringify({ check: name, ok: false, why: String(error.message ?? error) }));
  }
}

// skip says that the library cannot decide a check, and why.
export function skip(name, why) {
  console.log(JSON.stringify({ check: name, skip: why }));
}

// refused is for what must not pass: a check that lets it through is broken itself.
export async function refused(name, work) {
  await check(name, async () => {
    let passed = false;
    try {
      await work();
      passed = true;
    } catch {
      // refused, as it should be
    }
    must(!passed, "it was accepted");
  });
}
