package opsweb

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/operation"
)

// UnsignedError names a ledger line that should carry a signature of the home's lock, or one that is not what its signature
// says. It wraps [lock.ErrSignature].
type UnsignedError struct {
	Seq  uint64
	Kind string
}

// Error names the line by its sequence number.
func (e *UnsignedError) Error() string {
	return fmt.Sprintf("the record %d (%s) is not signed with the key of the home's lock, which was set before it", e.Seq, e.Kind)
}

// Unwrap returns lock.ErrSignature.
func (e *UnsignedError) Unwrap() error { return lock.ErrSignature }

// Signatures is what the signatures in a ledger come to.
type Signatures struct {
	Answers int    // that were given while there was a lock, and are good
	Lock    string // the fingerprint of the lock that is in force after the last record; empty when there is none
}

// AnswerCheck checks, from the lines of a ledger alone, that while the home had a lock each answer of the User's carried
// its signature, over what the line says, and that who removed the lock could open it. Its zero value has seen no lines.
type AnswerCheck struct {
	found   Signatures
	inForce *lock.Lock
	failed  *UnsignedError
}

// Sees looks at the next line.
func (c *AnswerCheck) Sees(rec ledger.Record) {
	if c.failed != nil {
		return
	}
	var err error
	switch rec.Kind {
	case lock.KindSet, lock.KindChanged, lock.KindRemoved:
		c.inForce, err = lockOf(rec, c.inForce)
	case lineYes, lineNo, lineRerunYes, lineRerunNo:
		if c.inForce != nil {
			if err = checkAnswer(rec, *c.inForce); err == nil {
				c.found.Answers++
			}
		}
	}
	if err != nil {
		c.failed = &UnsignedError{Seq: rec.Seq, Kind: rec.Kind}
	}
}

// Found is what the lines so far come to. The first one that fails is an *[UnsignedError].
func (c *AnswerCheck) Found() (Signatures, error) {
	if c.failed != nil {
		return c.found, c.failed
	}
	found := c.found
	if c.inForce != nil {
		found.Lock = c.inForce.Fingerprint()
	}
	return found, nil
}

// lockOf is the lock in force after a line about it.
func lockOf(rec ledger.Record, before *lock.Lock) (*lock.Lock, error) {
	var note lock.Note
	if err := json.Unmarshal(rec.Data, &note); err != nil {
		return nil, err
	}
	if err := note.Check(rec.Kind); err != nil {
		return nil, err
	}
	public := lock.Public(note.PublicKey)
	if before != nil && before.Fingerprint() != public.Fingerprint() {
		return nil, lock.ErrSignature // a lock is removed before another is set
	}
	if rec.Kind == lock.KindRemoved {
		return nil, nil
	}
	return &public, nil
}

func checkAnswer(rec ledger.Record, l lock.Lock) error {
	var a Answer
	if err := json.Unmarshal(rec.Data, &a); err != nil {
		return err
	}
	if a.Approver != operation.ByUser {
		if a.Approved {
			return lock.ErrSignature
		}
		return nil // a refusal that nobody was asked for
	}
	if a.Signed == nil {
		return lock.ErrSignature
	}
	says := approval.Shown{Request: approval.RequestID(a.Signed.Request), OperationID: a.Signed.Operation, Revision: a.Signed.Revision, TermsHash: a.Signed.TermsHash}
	if says != a.Shown || a.Signed.Approved != a.Approved || answerLine(approval.Kind(a.Signed.Kind), a.Approved) != rec.Kind {
		return lock.ErrSignature
	}
	return l.Verify(*a.Signed, a.Signature)
}

// signed reports whether the User's yes to an approval is in the round's records, with the lock's signature.
func (p Past) signed(l lock.Lock, sent Sent) bool {
	return slices.ContainsFunc(p.Records, func(rec ledger.Record) bool {
		var a Answer
		if rec.Kind != lineYes || json.Unmarshal(rec.Data, &a) != nil || a.Approver != sent.Approver || checkAnswer(rec, l) != nil {
			return false
		}
		return a.Signed.Company == p.Company && a.Shown.OperationID == sent.OperationID && a.Shown.Revision == sent.Revision
	})
}
