// Package testsite is the bundled Company: "Stormline Outdoor", a small shop that speaks profile 1.0 of the
// protocol with Operations v3, signed out, and writes down each rule that an agent breaks.
//
// It is an independent reading of the protocol. It imports no other package of this module, so that a
// misreading in the agent shows as a broken rule here, and one here as a failing round there.
//
// [Start] gives a [Site] that listens on loopback. The shop is at https://stormline.test and its issuer at
// https://auth.stormline.test; one TLS listener answers for both with a leaf certificate of an authority made
// in memory for this process. Clients reach it by [Site.ConnectTo] and trust it by [Site.Authority].
//
// What it serves:
//
//   - the three discovery documents (discovery.go);
//   - the browser join at /poppy/browser-session (join.go);
//   - the operations endpoint at /poppy/operations (endpoint.go);
//   - the pages of the shop, four of whose actions need approval (pages.go, guard.go): the exchange on
//     /orders/ord_7Hk2 (a form), the delivery address on /account/address (a fetch), the cancellation on
//     /membership (a form with a Continue button) and gift wrap on /gift (a fetch that the page repeats itself);
//   - a control port for tests (control.go), on plain HTTP and loopback.
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
