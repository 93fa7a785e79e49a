// Package ledger is the durable, hash-chained record of what an agent saw,
// was answered and did. A line is on disk before the act that it permits, and
// the User can read and verify all of it with standard tools.
//
//	l, err := ledger.Open(ctx, ledger.Config{Dir: dir, Owner: owner})
//	rec, err := l.Append(ctx, ledger.Entry{Kind: "sending", Round: round, Data: data})
//	// Only now may the approval be sent.
//
// # The file
//
// DIR/ledger.jsonl (mode 0600, in a folder of mode 0700) is JSON, one object a
// line, each line at most 4 MiB and ended by a line feed. It only grows. The
// first line names the format:
//
//	{"format":"papaver ledger","version":1}
//
// Every other line is a [Record], with these members in this order and no
// space between them:
//
//	{"seq":1,"time":"2026-01-02T15:04:05Z","owner":"…","kind":"…","round":"…","data":{…},"prev":"…","hash":"…"}
//
// seq counts from 1. prev is the hash of the line before; in the first record
// it is the SHA-256 of the format line. hash is the SHA-256 of the line's own
// bytes from its start up to, and without, the comma before "hash". prev is
// among those bytes, and so each hash covers all lines before it. Both are 64
// lower-case hexadecimal digits. To check line 7 by hand:
//
//	sed -n 7p ledger.jsonl | sed 's/,"hash":"[0-9a-f]*"}$//' | tr -d '\n' | sha256sum
//
// From 4 MiB on ([Config.MaxFile]) the ledger goes on in a new file. The old one
// becomes DIR/ledger-000001.jsonl, and so on, and the first line of the new
// ledger.jsonl names what it goes on from, so that one chain runs through all of
// them; prev of the first record is the SHA-256 of that line:
//
//	{"format":"papaver ledger","version":2,"file":2,"records":RECORDS-SO-FAR,"prev":"THE-LAST-ONE'S-HASH"}
//
// All files count, always: a round may be unsettled, or an operation have been
// performed, in any of them. None may be missing.
//
// # What is kept in memory
//
// No lines: an index of where they stand, by round and by what the caller finds
// them by ([Index]), and the rounds that have not ended. A line that is asked for is read and held
// against the hash that it had when it was verified. Of an older file also the index is kept
// beside it, in DIR/ledger-000001.index, once the whole file was verified, and used as long as nothing has
// touched that file since; then, or when the index is damaged or gone, the file is read again.
// So an opening costs the newest file and what was touched, an append what others wrote since, and neither grows with
// the ledger. The index files may be deleted at any time.
//
// The chain proves that nothing was changed or taken out before a hash that
// somebody remembers. Alone it can't show that whole lines are missing at the
// end: for that, compare [Report.Head] with a remembered one.
//
// # What is recovered and what isn't
//
// A last line without its line feed is torn: its writer died, or the disk was
// full, before [Ledger.Append] returned, and so nothing was done because of it.
// Reading reports it and leaves it out. The next [Open] or Append cuts it off,
// or, when only the line feed is missing, completes it; either way with a line
// in [Ledger.Notices]. Every other damage is a [DamageError] that names the line;
// nothing is then appended, because to go on from a record that can't be
// trusted could perform an operation twice.
//
// # Several processes
//
// Any number of processes may have one ledger open. An append takes the flock
// of DIR/ledger.lock, reads and verifies what others appended, checks that the
// round still belongs to its owner, writes one line with one write, syncs, and
// lets go. What a line must not be beside is asked there too ([Entry.Unless]):
// nobody else can have written it meanwhile. The lock is a file of its own because the ledger may be replaced by
// a rename (a restored backup): two processes could then hold locks of two
// files and both believe that they are alone. Reading takes no lock and changes nothing.
//
// The lock is advisory and binds programs that use this package. A local disk
// is assumed: NFS has other promises about appending and locking.
package ledger
