// Package testsite is the bundled Company: "Stormline Outdoor", a small shop that speaks protocol 1.0 with Operations
// v3, or one of the drafts 0.2 and 0.1, and writes down each rule that an agent breaks.
//
// It is an independent reading of the protocol. It imports no other package of this module, so that a
// misreading in the agent shows as a broken rule here, and one here as a failing round there.
//
// [Start] gives a [Site] that listens on loopback. The shop is at https://stormline.test (Config.Domain) and its issuer at
// https://auth.stormline.test; one TLS listener answers for both with a leaf certificate of an authority made
// in memory for this process. Clients reach it by [Site.ConnectTo] and trust it by [Site.Authority].
//
// What it serves:
//
//   - the discovery documents (discovery.go);
//   - the authorization server of the issuer, with all three types of sign-in and the pages on which people decide
//     (package authserver; people.go);
//   - an API at /api, and in the drafts an MCP server at /mcp (api.go, mcp.go);
//   - the browser join at /poppy/browser-session (join.go);
//   - in 1.0 the operations endpoint at /poppy/operations (endpoint.go); the drafts' version 1 of operations isn't there;
//   - the pages of the shop, four of whose actions need approval (pages.go, guard.go): the exchange on
//     /orders/ord_7Hk2 (a form), the delivery address on /account/address (a fetch), the cancellation on
//     /membership (a form with a Continue button) and gift wrap on /gift (a fetch that the page repeats itself);
//   - a control port for tests (control.go, acts.go), on plain HTTP, if it is asked for: whoever reaches it is the User.
//
// Two accounts are there to sign in to ([Accounts]); the first has a second step with a one-time code. How an agent's
// browser is signed in is looked up with each request (visit.go), so a sign-out shows at once.
//
// The controls on the pages have fixed ids: #model, #size and #exchange; #street, #city, #postal_code and
// #save-address; #cancel-membership and #continue; #message and #add-gift-wrap. The outcome of an action is shown
// in #result.
//
// The operations themselves are one state machine without HTTP (operations.go). Rules are listed in rules.go, and
// the ways in which the Company can be told to misbehave in faults.go.
//
// What this does not promise: nothing is on disk, and nothing that was asked for is forgotten before Close. It is a
// Company for tests and demonstrations, not a shop.
package testsite
