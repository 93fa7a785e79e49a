package testsite

import "github.com/papaver-agent/papaver/testsite/authserver"

// Severity says how binding the broken rule is.
type Severity string

// The severities, in the words of the specification. A note breaks no rule by itself.
const (
	Must   Severity = "must"
	Should Severity = "should"
	Note   Severity = "note"
)

// rule is one thing an agent must or should do that the Company can see from its side.
type rule struct {
	id       string // stable, kebab-case
	clause   string // the clause of the conformance table, if there is one
	severity Severity
	says     string // what the agent has to do
}

// The rules of a credential exist twice: for the Session header ("session-…") and the join's assertion ("join-…").
const (
	credMalformed     = "malformed"
	credAlgorithm     = "algorithm"
	credType          = "type"
	credAgent         = "unknown-agent"
	credUndelegated   = "not-delegated"
	credDelegationOld = "delegation-expired"
	credDelegationAge = "delegation-too-long"
	credSignature     = "signature"
	credClaims        = "claims"
	credAudience      = "audience"
	credExpired       = "expired"
	credLife          = "too-long-life"
	credReused        = "reused-jti"
	credToken         = "access-token-hash"
	credSession       = "session"
	credTime          = "time"
	credJTI           = "jti"
	credIssuer        = "issuer"
)

const (
	ruleSessionMissing     = "session-missing"
	ruleSessionTwice       = "session-twice"
	ruleSessionElsewhere   = "session-header-elsewhere"
	ruleApprovalElsewhere  = "approval-header-elsewhere"
	ruleCredentialInURL    = "credential-in-url"
	ruleBrowserAtEndpoint  = "browser-at-endpoint"
	ruleRedirectFollowed   = "redirect-followed"
	rulePrivateKey         = "private-key-published"
	ruleTwoCredentials     = "two-credentials"
	ruleVersion            = "version-header"
	ruleExtension          = "extension-header"
	ruleMethod             = "endpoint-method"
	ruleContentType        = "endpoint-content-type"
	ruleBody               = "endpoint-body"
	ruleRefMalformed       = "ref-malformed"
	ruleRefUnknown         = "ref-unknown"
	ruleRefOfAnother       = "ref-of-another"
	ruleApprovalMalformed  = "approval-malformed"
	ruleApproverMissing    = "approver-missing"
	ruleApproverUnknown    = "approver-unknown"
	ruleApprovalType       = "approval-member-type"
	ruleInputTypeAgent     = "input-type-with-agent"
	ruleApprovedAtMissing  = "approved-at-missing"
	ruleApprovedAtWrong    = "approved-at-wrong"
	ruleInputTypeMissing   = "input-type-missing"
	ruleReferenceReused    = "reference-reused"
	ruleReferenceAlphabet  = "reference-alphabet"
	ruleApprovalOfAnother  = "approval-of-another"
	ruleOperationMismatch  = "approval-operation-mismatch"
	ruleRevisionUnknown    = "approval-unknown-revision"
	ruleRevisionUnread     = "approval-unread-revision"
	ruleRevisionExpired    = "approval-expired-revision"
	ruleAfterDecline       = "approval-after-decline"
	ruleAgentAfterDecline  = "agent-approval-after-decline"
	ruleAgentNewTerms      = "agent-approval-of-new-terms"
	ruleAgentNewOperation  = "agent-approval-of-new-operation"
	ruleBeforeLookUp       = "approval-before-look-up"
	ruleWhilePerforming    = "approval-while-performing"
	ruleAfterPerformed     = "approval-after-performed"
	ruleSecondApproval     = "second-approval"
	ruleRetryDiffers       = "approval-changed-on-retry"
	ruleRepeat             = "repeat-after-performed"
	ruleEarlyRetry         = "retry-too-early"
	ruleJoinForm           = "join-form"
	ruleJoinReturnTo       = "join-return-to"
	ruleJoinExtensions     = "join-extensions"
	ruleJoinToken          = "join-access-token"
	prefixSession          = "session-"
	prefixJoin             = "join-"
	clauseJoinAssertion    = ""
	clauseSessionDelegated = "C10-5.05"
)

// ruleTable lists every rule this Company watches. A rule that isn't here can't be recorded.
var ruleTable = []rule{
	// The Session header: Session header checks of the specification, section 5.3.
	{ruleSessionMissing, "OPS3-4.47", Must, "a request to the endpoint carries the Session header"},
	{ruleSessionTwice, "C10-5.01", Must, "the Session header is one compact JWT, once"},
	{prefixSession + credMalformed, "C10-5.01", Must, "the Session header is a compact JWT"},
	{prefixSession + credAlgorithm, "C10-5.04", Must, "the Session JWT is signed with ES256"},
	{prefixSession + credType, "C10-5.02", Must, "typ is poppy-session+jwt"},
	{prefixSession + credAgent, "C10-4.04", Must, "the issuer of the Session JWT is an agent this Company knows"},
	{prefixSession + credUndelegated, clauseSessionDelegated, Must, "poppy_dlg is a delegation signed by a published key of the agent"},
	{prefixSession + credDelegationOld, "C10-5.04", Must, "the delegation has not expired"},
	{prefixSession + credDelegationAge, "C10-5.04", Should, "a delegation lives an hour at most"},
	{prefixSession + credSignature, "C10-5.04", Must, "the delegated key signed the Session JWT"},
	{prefixSession + credClaims, "C10-5.12", Must, "the Session JWT has iss, sub, aud, sid, iat, exp and jti of the right form"},
	{prefixSession + credAudience, "", Must, "aud is this Company's issuer"},
	{prefixSession + credExpired, "C10-5.03", Must, "the Session JWT is valid now"},
	{prefixSession + credLife, "", Should, "a Session JWT lives 60 seconds at most"},
	{prefixSession + credReused, "C10-5.03", Must, "a new Session JWT is signed for every request"},
	{prefixSession + credToken, "C10-5.10", Must, "the Session JWT is bound to the access token beside it, and to none when there is none"},
	{ruleSessionElsewhere, "OPS3-4.43", Must, "the Session header goes to the operations endpoint and the APIs only"},

	// The join.
	{ruleJoinForm, "", Must, "the join is a form POST with one assertion"},
	{ruleJoinToken, "C10-9.02", Must, "the access token of a join is the User's, and goes into the form"},
	{ruleJoinExtensions, "OPS3-2.13", Must, "extensions of a join are a List of Strings as in Poppy-Extensions"},
	{ruleJoinReturnTo, "", Must, "return_to is an HTTPS URL on the Company's domain"},
	{prefixJoin + credMalformed, clauseJoinAssertion, Must, "the assertion is a compact JWT"},
	{prefixJoin + credAlgorithm, clauseJoinAssertion, Must, "the assertion is signed with ES256"},
	{prefixJoin + credType, clauseJoinAssertion, Must, "typ is poppy-browser+jwt"},
	{prefixJoin + credAgent, "C10-4.04", Must, "the issuer of the assertion is an agent this Company knows"},
	{prefixJoin + credUndelegated, clauseJoinAssertion, Must, "poppy_dlg is a delegation signed by a published key of the agent"},
	{prefixJoin + credDelegationOld, clauseJoinAssertion, Must, "the delegation has not expired"},
	{prefixJoin + credDelegationAge, clauseJoinAssertion, Should, "a delegation lives an hour at most"},
	{prefixJoin + credSignature, clauseJoinAssertion, Must, "the delegated key signed the assertion"},
	{prefixJoin + credClaims, clauseJoinAssertion, Must, "the assertion has iss, sub, aud, sid, return_to, iat, exp and jti of the right form"},
	{prefixJoin + credAudience, clauseJoinAssertion, Must, "aud is the join endpoint"},
	{prefixJoin + credExpired, clauseJoinAssertion, Must, "the assertion is valid now"},
	{prefixJoin + credLife, clauseJoinAssertion, Must, "an assertion lives 60 seconds at most"},
	{prefixJoin + credReused, clauseJoinAssertion, Must, "an assertion is used once"},

	{prefixJoin + credToken, "C10-5.10", Must, "the assertion is bound to the access token beside it, and to none when there is none"},
	{prefixJoin + credSession, "S01-5.10", Must, "the assertion names an active Session of its own agent and User"},
	{prefixJoin + credTime, clauseJoinAssertion, Must, "the assertion is valid now and lives 60 seconds at most"},
	{prefixJoin + credJTI, clauseJoinAssertion, Must, "jti of the assertion has 128 bits"},
	{prefixJoin + credIssuer, clauseJoinAssertion, Must, "iss of the assertion is the client_id"},

	// Requests to the endpoint: Operations v3, section 4.
	{ruleMethod, "OPS3-4.46", Must, "the endpoint is called by POST"},
	{ruleVersion, "OPS3-4.47", Must, "Poppy-Version is 1.0"},
	{ruleExtension, "OPS3-4.47", Must, `Poppy-Extensions declares "operations";v="3"`},
	{ruleContentType, "OPS3-4.46", Must, "the content type is application/json"},
	{ruleBody, "OPS3-4.46", Must, "the body is a JSON object with the reference in ref"},
	{ruleRefMalformed, "OPS3-4.23", Must, "a reference has at most 2048 characters of its alphabet"},
	{ruleRefUnknown, "OPS3-4.36", Must, "a reference comes from a Poppy-Operation header of this Company"},
	{ruleRefOfAnother, "OPS3-4.44", Must, "a reference is sent in a Session that can approve its operation"},
	{ruleBrowserAtEndpoint, "OPS3-6.32", Must, "the endpoint is called by the agent, never by its browser"},
	{ruleCredentialInURL, "S01-4.8.10", Must, "no token, assertion or Session header stands in a URL"},
	{ruleRedirectFollowed, "OPS3-4.43", Must, "no redirect of the endpoint or the join's POST is followed with its credentials"},
	{ruleEarlyRetry, "OPS3-7.10", Must, "after 503 the agent waits as long as Retry-After says"},

	// Approvals: Operations v3, sections 5 to 7.
	{ruleApprovalElsewhere, "OPS3-6.33", Must, "an approval goes to the operations endpoint only"},
	{ruleApprovalMalformed, "OPS3-6.22", Must, "Poppy-Approval is a Dictionary with operation_id and revision"},
	{ruleApproverMissing, "OPS3-6.03", Must, "an approval names its approver"},
	{ruleApproverUnknown, "OPS3-6.04", Must, "approver is user or agent"},
	{ruleApprovalType, "OPS3-6.22", Must, "members of Poppy-Approval are Strings, approved_at an Integer"},
	{ruleInputTypeAgent, "OPS3-6.08", Must, "input_type isn't sent with approver agent"},
	{ruleApprovedAtMissing, "OPS3-6.16", Should, "approved_at is sent with approver user"},
	{ruleApprovedAtWrong, "OPS3-6.05", Must, "approved_at is in Unix seconds and not in the future"},
	{ruleInputTypeMissing, "OPS3-6.17", Should, "input_type is sent with approver user"},
	{ruleReferenceReused, "OPS3-6.12", Must, "the reference of an approval is unique"},
	{ruleReferenceAlphabet, "OPS3-6.11", Must, "the reference of an approval has the characters of an ID"},
	{ruleApprovalOfAnother, "OPS3-3.34", Must, "an operation is approved for the User and by the agent it was returned to"},
	{ruleOperationMismatch, "OPS3-6.02", Must, "an approval names the operation of the reference it is sent with"},
	{ruleRevisionUnknown, "OPS3-6.02", Must, "an approval names a revision the Company returned"},
	{ruleRevisionUnread, "OPS3-5.05", Must, "a revision is read, and shown, before it is approved"},
	{ruleRevisionExpired, "OPS3-3.15", Must, "no approval is sent after expires_at"},
	{ruleAfterDecline, "OPS3-6.88", Must, "a declined approval is not sent again"},
	{ruleAgentAfterDecline, "OPS3-6.89", Must, "after a decline a new revision is not approved without the User"},
	{ruleAgentNewTerms, "OPS3-5.17", Must, "new terms in answer to an agent approval go to the User"},
	{ruleAgentNewOperation, "OPS3-5.18", Must, "a new operation after a recorded agent approval goes to the User"},
	{ruleBeforeLookUp, "OPS3-7.19", Must, "the earlier reference is looked up before a new one is approved"},
	{ruleWhilePerforming, "OPS3-7.21", Must, "no new operation is approved while the earlier one is performing"},
	{ruleAfterPerformed, "OPS3-7.22", Must, "a new operation is not approved when the earlier one was performed"},
	{ruleSecondApproval, "OPS3-7.13", Must, "one approval of an operation is sent until its outcome is known"},
	{ruleRetryDiffers, "OPS3-7.12", Must, "a retry carries the same approval, member by member"},
	{ruleRepeat, "OPS3-7.06", Note, "the browser doesn't repeat an action that a look-up called performed"},
}

// allRules are this table's and the authorization server's.
func allRules() []rule {
	all := append([]rule{}, ruleTable...)
	for _, r := range authserver.Rules() {
		severity := Must
		if r.Should {
			severity = Should
		}
		all = append(all, rule{r.ID, r.Clause, severity, r.Says})
	}
	return all
}

// findRule gives the row of an id, and whether there is one.
func findRule(id string) (rule, bool) {
	for _, r := range allRules() {
		if r.id == id {
			return r, true
		}
	}
	return rule{}, false
}
