package opsweb

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
)

// asked is how every story begins whose terms reach the User, and approved one whose approval leaves.
const (
	asked    = "ACT sighting LOOK:r1 operation question "
	approved = asked + "answer sending APPROVE:r1:v1 "
)

// many returns n times the same answer.
func many(n int, a answer) []answer { return slices.Repeat([]answer{a}, n) }

func replays() []story {
	changed := func(change func(*page)) page { p := refused("r1"); change(&p); return p }
	endpoint := []answer{terms("v1"), recorded, state("performed")}
	const end = "replayed LOOK:r1 settled"
	return []story{
		{name: "the refused form is loaded again", endpoint: endpoint, user: []say{yes}, outcome: Performed,
			site: []page{refused("r1"), done}, want: approved + "recorded replaying RELOAD " + end},
		{name: "the one Continue control is pressed", endpoint: endpoint, user: []say{yes}, outcome: Performed,
			site: []page{changed(func(p *page) { p.cont = true }), done}, want: approved + "recorded replaying CONTINUE " + end},
		{name: "a script's request: the same control is pressed", endpoint: endpoint, user: []say{yes}, outcome: Performed,
			site: []page{refusedScript("r1"), done}, want: approved + "recorded replaying PRESS " + end},
		{name: "the page has done it by itself", endpoint: endpoint, user: []say{yes}, outcome: Performed,
			site: []page{changed(func(p *page) { p.script, p.repeats = true, true })}, want: approved + "recorded replaying " + end},
		{name: "the Company is still performing", user: []say{yes}, outcome: Performed, site: []page{refused("r1"), done},
			endpoint: []answer{terms("v1"), recorded, state("performing"), state("performing"), state("performed")},
			want:     approved + "recorded replaying RELOAD replayed LOOK:r1 LOOK:r1 LOOK:r1 settled"},
		{name: "it performs for longer than we wait", user: []say{yes}, outcome: Unknown, why: "still performing", site: []page{refused("r1"), done},
			endpoint: append([]answer{terms("v1"), recorded}, many(25, state("performing"))...),
			want:     approved + "recorded replaying RELOAD replayed " + strings.Repeat("LOOK:r1 ", 25) + "settled"},
		{name: "the request was lost: it is made again once", user: []say{yes}, outcome: Performed, site: []page{refusedScript("r1"), {script: true}, done},
			endpoint: []answer{terms("v1"), recorded, state("approved"), state("performed")},
			want:     approved + "recorded replaying PRESS replayed LOOK:r1 still-approved replaying PRESS " + end},
		{name: "it is lost again: unknown", user: []say{yes}, outcome: Unknown, why: "approved and not performed", site: []page{refusedScript("r1"), {script: true}, {script: true}},
			endpoint: []answer{terms("v1"), recorded, state("approved"), state("approved")},
			want:     approved + "recorded replaying PRESS replayed LOOK:r1 still-approved replaying PRESS " + end},
		{name: "the page is gone: nothing is made again", user: []say{yes}, outcome: Unknown, why: "could not be made again",
			site:     []page{changed(func(p *page) { p.script, p.leaves = true, true })},
			endpoint: []answer{terms("v1"), recorded, state("approved"), state("approved")},
			want:     approved + "recorded replay-impossible LOOK:r1 still-approved replay-impossible LOOK:r1 settled"},
		{name: "another control stands in its place", user: []say{yes}, outcome: Unknown, why: "could not be made again",
			site:     []page{changed(func(p *page) { p.script, p.renamed = true, true })},
			endpoint: []answer{terms("v1"), recorded, state("approved"), state("approved")},
			want:     approved + "recorded replay-impossible LOOK:r1 still-approved replay-impossible LOOK:r1 settled"},
		{name: "another operation's state", user: []say{yes}, outcome: Unknown, why: "another operation", site: []page{refused("r1"), done},
			endpoint: []answer{terms("v1"), recorded, {status: 200, body: `{"operation_id":"exc_2","status":"performed"}`}},
			want:     approved + "recorded replaying RELOAD " + end},
		{name: "a state nobody knows", user: []say{yes}, outcome: Unknown, why: "no longer says", site: []page{refused("r1"), done},
			endpoint: []answer{terms("v1"), recorded, state("finished")},
			want:     approved + "recorded replaying RELOAD " + end},
		{name: "nobody can be asked", user: []say{yes}, outcome: Unknown, why: "could not be asked", site: []page{refused("r1"), done},
			endpoint: append([]answer{terms("v1"), recorded}, many(lookTries, lost)...),
			want:     approved + "recorded replaying RELOAD replayed " + strings.Repeat("LOOK:r1 ", lookTries) + "settled"},
	}
}

func newReferences() []story {
	return []story{
		{name: "the earlier operation is performed: the new one is not even fetched", user: []say{yes}, outcome: Performed,
			endpoint: []answer{terms("v1"), recorded, state("performing"), state("performed")}, site: []page{refused("r1"), refused("r2")},
			want: approved + "recorded replaying RELOAD sighting replayed LOOK:r1 LOOK:r1 settled"},
		{name: "the same terms: made again once", user: []say{yes}, outcome: Performed,
			endpoint: []answer{terms("v1"), recorded, state("approved"), terms("v1"), state("performed")}, site: []page{refused("r1"), refused("r2"), done},
			want: approved + "recorded replaying RELOAD sighting replayed LOOK:r1 LOOK:r2 still-approved replaying RELOAD replayed LOOK:r1 settled"},
		{name: "other terms: the User is asked", user: []say{yes, yes}, outcome: Performed,
			endpoint: []answer{terms("v1"), recorded, state("approved"), terms("v2"), state("approved"), recorded, state("performed")}, site: []page{refused("r1"), refused("r2"), done},
			want: approved + "recorded replaying RELOAD sighting replayed LOOK:r1 LOOK:r2 operation question answer LOOK:r1 sending APPROVE:r2:v2 recorded replaying RELOAD replayed LOOK:r2 settled"},
		{name: "other terms, and the page used the first approval while the User was asked", user: []say{yes, yes}, outcome: Performed, why: "was not sent",
			endpoint: []answer{terms("v1"), recorded, state("approved"), terms("v2"), state("performing"), state("performed")}, site: []page{refused("r1"), refused("r2")},
			want: approved + "recorded replaying RELOAD sighting replayed LOOK:r1 LOOK:r2 operation question answer LOOK:r1 LOOK:r1 settled"},
		{name: "other terms, and nobody says what became of the first approval meanwhile", user: []say{yes, yes}, outcome: Unknown, why: "was not sent",
			endpoint: []answer{terms("v1"), recorded, state("approved"), terms("v2"), gone}, site: []page{refused("r1"), refused("r2")},
			want: approved + "recorded replaying RELOAD sighting replayed LOOK:r1 LOOK:r2 operation question answer LOOK:r1 settled"},
		{name: "other terms, which the User refuses while the first approval lives", user: []say{yes, no}, outcome: Unknown, why: "is still recorded",
			endpoint: []answer{terms("v1"), recorded, state("approved"), terms("v2")}, site: []page{refused("r1"), refused("r2")},
			want: approved + "recorded replaying RELOAD sighting replayed LOOK:r1 LOOK:r2 operation question refusal settled"},
		{name: "another operation while the first is approved: not asked", user: []say{yes}, outcome: Unknown, why: "stays recorded",
			endpoint: []answer{terms("v1"), recorded, state("approved"), termsOf("exc_2", "v2", time.Hour)}, site: []page{refused("r1"), refused("r2")},
			want: approved + "recorded replaying RELOAD sighting replayed LOOK:r1 LOOK:r2 settled"},
		{name: "the same terms, and another request of the page is refused too: that takes nothing's place, and is told", user: []say{yes}, outcome: Performed,
			endpoint: []answer{terms("v1"), recorded, state("approved").with(func(w *world) { w.soon(countRefused("r9")) }), terms("v1"), state("performed")},
			site:     []page{refusedScript("r1"), refusedScript("r2"), {script: true, status: 200}},
			want:     approved + "recorded replaying PRESS sighting replayed LOOK:r1 sighting LOOK:r2 still-approved replaying PRESS replayed LOOK:r1 settled", after: toldOfCount},
		{name: "another request of the page is refused alone: it is told, and the act is made again", user: []say{yes}, outcome: Performed,
			endpoint: []answer{terms("v1"), recorded, state("approved").with(func(w *world) { w.soon(countRefused("r9")) }), termsOf("exc_9", "v1", time.Hour), state("performed")},
			site:     []page{refusedScript("r1"), {script: true}, {script: true, status: 200}},
			want:     approved + "recorded replaying PRESS replayed LOOK:r1 sighting LOOK:r9 still-approved replaying PRESS replayed LOOK:r1 settled", after: toldOfCount},
		{name: "a new reference that is not accepted", user: []say{yes}, outcome: Unknown, why: "no longer matches",
			endpoint: []answer{terms("v1"), recorded, state("approved"), gone}, site: []page{refused("r1"), refused("r2")},
			want: approved + "recorded replaying RELOAD sighting replayed LOOK:r1 LOOK:r2 settled"},
	}
}

// countRefused is another request of the page, which is refused with an operation of its own.
func countRefused(ref string) page {
	p := refusedScript(ref)
	p.url = "https://shop.test/count"
	return p
}

// toldOfCount checks that the User learns of what nobody was asked about.
func toldOfCount(w *world) {
	if told := bodies[Trouble](w); len(told) != 1 || !strings.Contains(told[0].What, "shop.test/count") {
		w.t.Errorf("told: %+v", told)
	}
}

func answersOfTheUser() []story {
	return []story{
		{name: "no: nothing is sent", endpoint: []answer{terms("v1")}, site: []page{refused("r1")}, user: []say{no}, outcome: Refused,
			want: asked + "refusal settled"},
		{name: "silence until the end", endpoint: []answer{terms("v1")}, site: []page{refused("r1")}, outcome: Expired, why: "nobody answered",
			want: asked + "settled"},
		{name: "expired before it could be asked", endpoint: []answer{termsOf("exc_1", "v1", 0)}, site: []page{refused("r1")}, outcome: Expired,
			want: "ACT sighting LOOK:r1 operation settled"},
		{name: "expired between the answer and the sending", endpoint: []answer{terms("v1")}, site: []page{refused("r1")}, user: []say{yes}, outcome: Expired, why: "between the answer and the sending",
			before: func(w *world) {
				w.disk.onLine("answer", func() { w.skip(time.Hour) })
			},
			want: asked + "answer settled"},
	}
}

func answersToTheApproval() []story {
	one := []page{refused("r1")}
	sent := func(more ...answer) []answer { return append([]answer{terms("v1")}, more...) }
	return []story{
		{name: "declined", endpoint: sent(declined(`,"reason":"Not online.","alternative":{"instructions":"Call."}`)), site: one, user: []say{yes}, outcome: Declined, why: "Not online.",
			want: approved + "settled"},
		{name: "a decline of another operation says nothing of ours", outcome: Unknown, why: "another operation", site: one, user: []say{yes},
			endpoint: sent(answer{status: http.StatusForbidden, body: `{"error":"approval_declined","operation_id":"exc_2","revision":"v1"}`}), want: approved + "settled"},
		{name: "a decline of another revision says nothing of ours either", outcome: Unknown, why: "another operation or revision", site: one, user: []say{yes},
			endpoint: sent(declinedOf("v2")), want: approved + "settled"},
		{name: "a decline that can't be read", outcome: Unknown, why: "can't be read", site: one, user: []say{yes},
			endpoint: sent(answer{status: http.StatusForbidden, body: `{"error":"approval_declined","operation_id":"exc_1"}`}), want: approved + "settled"},
		{name: "the Session has ended: nothing was recorded", endpoint: sent(sessionEnded), site: one, user: []say{yes}, outcome: Failed, why: "not recorded", want: approved + "settled"},
		{name: "the Session is signed out: nothing was recorded", endpoint: sent(answer{status: 401}), site: one, user: []say{yes}, outcome: Failed, why: "not recorded", want: approved + "settled"},
		{name: "declined without a word", endpoint: sent(declined("")), site: one, user: []say{yes}, outcome: Declined, want: approved + "settled"},
		{name: "new terms: asked again", endpoint: sent(terms("v2"), recorded, state("performed")), site: []page{refused("r1"), done}, user: []say{yes, yes}, outcome: Performed,
			want: approved + "operation question answer sending APPROVE:r1:v2 recorded replaying RELOAD replayed LOOK:r1 settled"},
		{name: "new terms, and silence: the first answer does not carry over", endpoint: sent(terms("v2")), site: one, user: []say{yes}, outcome: Expired,
			want: approved + "operation question settled"},
		{name: "the very revision it approves: never sent again", endpoint: sent(terms("v1")), site: one, user: []say{yes}, outcome: Failed, why: "very revision",
			want: approved + "settled"},
		{name: "another operation", endpoint: sent(termsOf("exc_2", "v1", time.Hour)), site: one, user: []say{yes}, outcome: Failed, why: "another operation",
			want: approved + "settled"},
		{name: "an operation that can't be read", endpoint: sent(answer{status: 403, body: `{"error":"approval_required","operation":{"operation_id":"exc_1"}}`}), site: one, user: []say{yes}, outcome: Failed, why: "can't be read",
			want: approved + "settled"},
		{name: "the reference is not accepted any more", endpoint: sent(gone), site: one, user: []say{yes}, outcome: Failed, why: "not recorded",
			want: approved + "settled"},
		{name: "the reference ends with the revision", endpoint: []answer{termsOf("exc_1", "v1", time.Minute), gone.with(func(w *world) { w.skip(2 * time.Minute) })}, site: one, user: []say{yes}, outcome: Expired,
			want: approved + "settled"},
		{name: "a state, as if it were recorded before", endpoint: sent(state("performing"), state("performed")), site: one, user: []say{yes}, outcome: Performed,
			want: approved + "state-known LOOK:r1 settled"},
		{name: "another operation's state", endpoint: sent(answer{status: 200, body: `{"operation_id":"exc_2","status":"performed"}`}), site: one, user: []say{yes}, outcome: Unknown,
			want: approved + "settled"},
		{name: "200 with a page is no record", endpoint: sent(answer{status: 200, body: `"ok"`}), site: one, user: []say{yes}, outcome: Unknown, want: approved + "settled"},
		{name: "a redirect is final", endpoint: sent(answer{status: 307, header: map[string]string{"Location": "https://evil.test/"}}), site: one, user: []say{yes}, outcome: Unknown,
			want: approved + "settled"},
		{name: "an error nobody knows", endpoint: sent(answer{status: 418}), site: one, user: []say{yes}, outcome: Unknown, want: approved + "settled"},
	}
}

func answersThatWereLost() []story {
	const again = "sending-again APPROVE:r1:v1 "
	const end = "recorded replaying RELOAD replayed LOOK:r1 settled"
	two := []page{refused("r1"), done}
	sent := func(more ...answer) []answer { return append([]answer{terms("v1")}, more...) }
	return []story{
		{name: "lost after the Company recorded it: the same approval again", endpoint: sent(lost, recorded, state("performed")), site: two, user: []say{yes}, outcome: Performed,
			want: approved + again + end},
		{name: "busy", endpoint: sent(busy(503, "7"), busy(429, ""), recorded, state("performed")), site: two, user: []say{yes}, outcome: Performed,
			want: approved + again + again + end},
		{name: "it failed: the same approval again", endpoint: sent(answer{status: 500}, answer{status: 502}, answer{status: 504}, recorded, state("performed")), site: two, user: []say{yes}, outcome: Performed,
			want: approved + again + again + again + end},
		{name: "it failed, with words of its own", endpoint: sent(answer{status: 500, body: `{"error":"approval_declined","operation_id":"exc_1","revision":"v1"}`}, recorded, state("performed")), site: two, user: []say{yes}, outcome: Performed,
			want: approved + again + end},
		{name: "it failed after the Company recorded it, and was used up", endpoint: sent(answer{status: 502}, state("performed"), state("performed")), site: two[:1], user: []say{yes}, outcome: Performed,
			want: approved + again + "state-known LOOK:r1 settled"},
		{name: "it failed, then new terms: looked up before anybody is asked", endpoint: sent(answer{status: 500}, terms("v2"), state("performed")), site: two[:1], user: []say{yes}, outcome: Performed,
			want: approved + again + "state-known LOOK:r1 settled"},
		{name: "it failed every time: unknown after five tries", endpoint: sent(many(sendTries, answer{status: 500})...), site: two[:1], user: []say{yes}, outcome: Unknown, why: "after 5 tries",
			want: approved + strings.Repeat(again, sendTries-1) + "settled"},
		{name: "busy for longer than the approval can be recorded: it is not waited for", endpoint: []answer{termsOf("exc_1", "v1", 2*time.Minute), busy(503, "300")}, site: two[:1], user: []say{yes}, outcome: Unknown, why: "after 1 tries",
			want: approved + "settled"},
		{name: "never answered: unknown after five tries", endpoint: sent(many(sendTries, lost)...), site: two[:1], user: []say{yes}, outcome: Unknown, why: "after 5 tries",
			want: approved + strings.Repeat(again, sendTries-1) + "settled"},
		{name: "lost, then not accepted: the Company is asked", endpoint: sent(lost, gone, state("performed")), site: two[:1], user: []say{yes}, outcome: Performed,
			want: approved + again + "state-known LOOK:r1 settled"},
		{name: "lost, then the very revision: unknown", endpoint: sent(lost, terms("v1")), site: two[:1], user: []say{yes}, outcome: Unknown,
			want: approved + again + "settled"},
		{name: "busy, then not accepted: the Company is asked", endpoint: sent(busy(503, ""), gone, gone), site: two[:1], user: []say{yes}, outcome: Unknown,
			want: approved + again + "state-known LOOK:r1 settled"},
		{name: "lost, then new terms: looked up before anybody is asked", endpoint: sent(lost, terms("v2"), state("performed")), site: two[:1], user: []say{yes}, outcome: Performed,
			want: approved + again + "state-known LOOK:r1 settled"},
		{name: "lost, then new terms, and nothing was recorded: asked", endpoint: sent(lost, terms("v2"), terms("v2")), site: two[:1], user: []say{yes, no}, outcome: Refused, why: "was not recorded",
			want: approved + again + "state-known LOOK:r1 operation question refusal settled"},
		{name: "lost, then another operation: unknown", endpoint: sent(lost, termsOf("exc_2", "v2", time.Hour)), site: two[:1], user: []say{yes}, outcome: Unknown,
			want: approved + again + "settled"},
		{name: "lost, then the Session has ended: unknown", endpoint: sent(lost, sessionEnded), site: two[:1], user: []say{yes}, outcome: Unknown,
			want: approved + again + "settled"},
		{name: "lost, then declined", endpoint: sent(lost, declined("")), site: two[:1], user: []say{yes}, outcome: Declined,
			want: approved + again + "settled"},
		{name: "the Company wants to be left alone: that was no try", endpoint: sent(held, held, recorded, state("performed")), site: two, user: []say{yes}, outcome: Performed,
			want: approved + "APPROVE:r1:v1 APPROVE:r1:v1 recorded replaying RELOAD replayed LOOK:r1 settled"},
		{name: "the Company wants to be left alone for longer than the approval may be sent", endpoint: sent(answer{held: time.Hour}), site: two[:1], user: []say{yes}, outcome: Failed, why: "could not be sent",
			want: approved + "settled"},
		{name: "lost, then a state", endpoint: sent(lost, state("approved"), state("performed")), site: two[:1], user: []say{yes}, outcome: Performed,
			want: approved + again + "state-known LOOK:r1 settled"},
	}
}

// renews lets the run start a new Session in place of one that has ended.
func renews(w *world) {
	w.onRenew = func(_ context.Context, sid string) error {
		w.note("RENEW")
		if sid != w.session.ID() {
			w.t.Errorf("the Session %s is renewed, and %s has ended", sid, w.session.ID())
		}
		return w.session.Restart(sid)
	}
}

// goneScript is a script's refusal, after which the tab leaves its page.
func goneScript(ref string) page {
	p := refusedScript(ref)
	p.leaves = true
	return p
}

func lookUpsBeforeTheQuestion() []story {
	one := []page{refused("r1")}
	return []story{
		{name: "the endpoint can't be reached", endpoint: many(fetchTries, lost), site: one, outcome: Failed, why: "could not be fetched",
			want: "ACT sighting " + strings.Repeat("LOOK:r1 ", fetchTries) + "settled"},
		{name: "it failed, then the terms", endpoint: []answer{{status: 502}, terms("v1")}, site: one, user: []say{no}, outcome: Refused,
			want: "ACT sighting LOOK:r1 LOOK:r1 operation question refusal settled"},
		{name: "it fails every time", endpoint: many(fetchTries, answer{status: 500}), site: one, outcome: Failed, why: "something else (status 500)",
			want: "ACT sighting " + strings.Repeat("LOOK:r1 ", fetchTries) + "settled"},
		{name: "busy for longer than we wait", endpoint: many(2, busy(503, "400")), site: one, outcome: Failed, why: "before a wait of 6m40s",
			want: "ACT sighting LOOK:r1 LOOK:r1 settled"},
		{name: "busy, then the terms", endpoint: []answer{busy(503, "2"), terms("v1")}, site: one, user: []say{no}, outcome: Refused,
			want: "ACT sighting LOOK:r1 LOOK:r1 operation question refusal settled"},
		{name: "terms that can't be read", endpoint: []answer{{status: 403, body: `{"error":"approval_required","operation":{"terms":{"a":1,"a":2}}}`}}, site: one, outcome: Failed, why: "can't be read",
			want: "ACT sighting LOOK:r1 settled"},
		{name: "terms that say nothing", endpoint: []answer{{status: 403, body: `{"error":"approval_required","operation":{"operation_id":"exc_1","revision":"v1","summary":"Exchange","terms":{},"expires_at":"2100-01-01T00:00:00Z"}}`}}, site: one, outcome: Failed, why: "no terms that could be shown",
			want: "ACT sighting LOOK:r1 operation settled"},
		{name: "it belongs to an account", endpoint: []answer{{status: 401}}, site: one, outcome: Failed, why: "account", want: "ACT sighting LOOK:r1 settled"},
		{name: "approved already, by nobody here", endpoint: []answer{state("approved")}, site: one, outcome: Unknown, want: "ACT sighting LOOK:r1 settled"},
		{name: "a decline without an approval", endpoint: []answer{declined("")}, site: one, outcome: Failed, want: "ACT sighting LOOK:r1 settled"},
		{name: "204 without an approval", endpoint: []answer{recorded}, site: one, outcome: Failed, want: "ACT sighting LOOK:r1 settled"},
		{name: "not accepted: made again for a new reference", endpoint: []answer{gone, terms("v1")}, site: []page{refused("r1"), refused("r2")}, user: []say{no}, outcome: Refused,
			want: "ACT sighting LOOK:r1 reference-gone RELOAD sighting new-reference LOOK:r2 operation question refusal settled"},
		{name: "not accepted twice", endpoint: []answer{gone, gone}, site: []page{refused("r1"), refused("r2")}, outcome: Failed, why: "neither",
			want: "ACT sighting LOOK:r1 reference-gone RELOAD sighting new-reference LOOK:r2 settled"},
		{name: "not accepted, and no new reference comes", endpoint: []answer{gone}, site: []page{refused("r1"), done}, outcome: Unknown, why: "no new one",
			want: "ACT sighting LOOK:r1 reference-gone RELOAD settled"},
		{name: "not accepted, and refused again without a reference", endpoint: []answer{gone}, site: []page{refused("r1"), {status: 403}}, outcome: Failed, why: "no new one",
			want: "ACT sighting LOOK:r1 reference-gone RELOAD settled"},
		{name: "not accepted, and another request of the page is refused", endpoint: []answer{gone}, site: []page{refusedScript("r1"), {script: true, status: 403, url: "https://shop.test/count"}}, outcome: Unknown, why: "is not known",
			want: "ACT sighting LOOK:r1 reference-gone PRESS settled"},
		{name: "not accepted, and another method is refused", endpoint: []answer{gone}, site: []page{refusedScript("r1"), {script: true, status: 403, method: "DELETE"}}, outcome: Unknown, why: "is not known",
			want: "ACT sighting LOOK:r1 reference-gone PRESS settled"},
		{name: "the Session has ended: the act is made again in a new one", before: renews, endpoint: []answer{sessionEnded, terms("v1")}, site: []page{refused("r1"), refused("r2")}, user: []say{no}, outcome: Refused,
			want: "ACT sighting LOOK:r1 RENEW reference-gone RELOAD sighting new-reference LOOK:r2 operation question refusal settled"},
		{name: "the Session has ended, and so has the next one", before: renews, endpoint: []answer{sessionEnded, sessionEnded}, site: []page{refused("r1"), refused("r2")}, outcome: Failed, why: "the one after it too",
			want: "ACT sighting LOOK:r1 RENEW reference-gone RELOAD sighting new-reference LOOK:r2 settled"},
		{name: "the Session has ended, and no other can be had", endpoint: []answer{sessionEnded}, site: one, outcome: Failed, why: "no Session can be had",
			want: "ACT sighting LOOK:r1 settled"},
		{name: "the Company wants to be left alone first", endpoint: []answer{held, terms("v1")}, site: one, user: []say{no}, outcome: Refused,
			want: "ACT sighting LOOK:r1 LOOK:r1 operation question refusal settled"},
		{name: "not accepted, and the act can't be made again", endpoint: []answer{gone}, site: []page{goneScript("r1")}, outcome: Failed, why: "no new one",
			want: "ACT sighting LOOK:r1 reference-gone settled"},
	}
}
