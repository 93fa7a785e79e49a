package simulation

import (
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// fault is a thing that goes wrong, by the name it is counted under.
type fault string

// The faults.
const (
	requestLost       fault = "endpoint: request lost"
	requestLate       fault = "endpoint: request arrives late, perhaps after it was given up"
	requestTwice      fault = "endpoint: request arrives twice"
	answerLost        fault = "endpoint: answer lost"
	answerLate        fault = "endpoint: answer late"
	answerTorn        fault = "endpoint: answer cut off"
	heldBack          fault = "endpoint: held back by the pace"
	busySeconds       fault = "endpoint: 503, Retry-After in seconds"
	busyDate          fault = "endpoint: 429, Retry-After as a date"
	busyDone          fault = "endpoint: 503 although it was taken"
	serverError       fault = "endpoint: 500, nothing taken"
	serverErrorDone   fault = "endpoint: 500 although it was taken"
	redirected        fault = "endpoint: redirect"
	badJSON           fault = "endpoint: invalid JSON"
	twiceJSON         fault = "endpoint: duplicate JSON member"
	oddState          fault = "endpoint: a state nobody knows"
	sessionEnded      fault = "endpoint: invalid_session"
	sessionRenewed    fault = "a new Session is joined in place of one that ended"
	notRenewed        fault = "no new Session can be joined"
	challenged        fault = "endpoint: 401"
	extensionWanted   fault = "endpoint: extension_required"
	referenceGone     fault = "endpoint: invalid_request for a live reference"
	declines          fault = "Company: declines"
	priceChanges      fault = "Company: price changed"
	expiryChanges     fault = "Company: deadline changed"
	forgets           fault = "Company: forgets what has expired"
	slowToPerform     fault = "Company: performs slowly"
	siteRequestLost   fault = "site: request lost"
	siteRequestTwice  fault = "site: request arrives twice"
	siteAnswerLost    fault = "site: answer lost"
	siteLate          fault = "site: late"
	siteError         fault = "site: 500, nothing taken"
	siteErrorDone     fault = "site: 500 although it was taken"
	answerRepeated    fault = "site: the same response twice"
	headerBad         fault = "site: a bad header"
	pageRepeats       fault = "page: asks again by itself"
	pageRepeatsLate   fault = "page: asks again by itself long after"
	pageLeaves        fault = "page: the tab goes elsewhere"
	controlGone       fault = "page: the control is gone"
	chromiumDies      fault = "Chromium dies"
	diskFull          fault = "disk: full, part of a line written"
	syncFails         fault = "disk: sync fails"
	crashBeforeWrite  fault = "crash before a line is written"
	crashBeforeSync   fault = "crash before a line is on disk"
	crashAfterSync    fault = "crash after a line is on disk"
	crashBeforeLeaves fault = "crash before a request leaves"
	crashUnderWay     fault = "crash while a request is under way"
	crashAfterAnswer  fault = "crash as an answer comes"
	crashAtClick      fault = "crash as the act is made again"
	tornLine          fault = "crash tears a line"
	runEnds           fault = "the run is ended early"
	userRefuses       fault = "User: no"
	userSilent        fault = "User: no answer"
	userLate          fault = "User: answers after the deadline"
	userWithdraws     fault = "User: no after a yes"
	userOtherTerms    fault = "User: answers what an older screen showed"
	flowAgain         fault = "resumed: the flow is run again"
	newFile           fault = "ledger: goes on in a new file"
	twoRuns           fault = "two processes at once"
	machineSleeps     fault = "the machine sleeps"
	clockWrong        fault = "the machine's clock is wrong"
)

// chance draws everything that a seed decides. Each part of the world draws from a stream of its own, so that one more
// draw in one part moves no other.
type chance struct {
	seed uint64
	rate float64

	mu      sync.Mutex
	streams map[string]*rand.Rand
	allowed map[fault]bool
	met     map[fault]int
}

// rates are how often something goes wrong, by seed: one seed in eight has no faults at all.
var rates = [...]float64{0, 0.04, 0.04, 0.1, 0.1, 0.2, 0.2, 0.35}

func newChance(seed uint64) *chance {
	c := &chance{seed: seed, streams: make(map[string]*rand.Rand), allowed: make(map[fault]bool), met: make(map[fault]int)}
	c.rate = rates[c.number("rate", len(rates))]
	return c
}

func (c *chance) stream(name string) *rand.Rand {
	s := c.streams[name]
	if s == nil {
		h := fnv.New64a()
		_, _ = io.WriteString(h, name)
		s = rand.New(rand.NewPCG(c.seed, h.Sum64()))
		c.streams[name] = s
	}
	return s
}

func (c *chance) number(name string, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream(name).IntN(n)
}

func (c *chance) one(name string, in int) bool { return c.number(name, in) == 0 }

// between draws a time. No two are alike, so that what happens at once in the bubble happens in one order.
func (c *chance) between(name string, least, most time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return least + time.Duration(c.stream(name).Int64N(int64(most-least)))
}

// meets decides whether a fault happens now, and counts it. A seed has some kinds of faults and not others.
func (c *chance) meets(f fault) bool { return c.meetsAt(f, 1) }

// meetsAt is meets for a fault that is so much more or less likely than others.
func (c *chance) meetsAt(f fault, weight float64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rate == 0 {
		return false
	}
	allowed, known := c.allowed[f]
	if !known {
		allowed = c.stream("allowed "+string(f)).IntN(2) == 0
		c.allowed[f] = allowed
	}
	if !allowed || c.stream(string(f)).Float64() >= c.rate*weight {
		return false
	}
	c.met[f]++
	return true
}

// count counts a fault that happened for another reason than meets.
func (c *chance) count(f fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.met[f]++
}

// Read gives the random bytes that the code under test asks for.
func (c *chance) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stream("bytes")
	for i := range b {
		b[i] = byte(s.Uint32())
	}
	return len(b), nil
}
