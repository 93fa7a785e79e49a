package signin

import (
	"context"
	"time"

	"github.com/papaver-agent/papaver/company"
)

// UI is how a sign-in reaches the User: a terminal, or whatever an agent's author has. Its methods are called one at a
// time. What they are given holds text of the Company, not sanitised: a UI sanitises what it shows, and shows the
// domain before the name.
type UI interface {
	// Address shows the page to open in the User's own browser, and returns at once (Direct).
	Address(ctx context.Context, p AddressPrompt) error
	// Callback waits until the User gives the address that their browser ended at (Direct). refused is why the one
	// before was not taken; nil at first.
	Callback(ctx context.Context, refused error) (string, error)
	// Code shows the link and the code, and returns at once (Device).
	Code(ctx context.Context, p CodePrompt) error
	// Waiting tells that the waiting goes on in another way than before (Device). It returns at once.
	Waiting(w Waiting)
	// Credentials asks for the fields, once. It tells the User that they hand their credentials to the agent (Mediated).
	// The values are overwritten when they were sent.
	Credentials(ctx context.Context, p CredentialsPrompt) (map[string][]byte, error)
	// OneTimeCode asks for the code that the Company sent the User (Mediated). The value is overwritten when it was sent.
	OneTimeCode(ctx context.Context, p OneTimePrompt) ([]byte, error)
}

// Party says who asks for what.
type Party struct {
	Domain string   // the company domain
	Name   string   // what the Company calls itself; its own text, not sanitised
	Scope  []string // asked for
	// Scopes describes the Company's own scopes; its own text, not sanitised.
	Scopes map[string]string
}

// AddressPrompt is the Company's page for a Direct Sign-In.
type AddressPrompt struct {
	Party
	URL      string // printable ASCII
	Redirect string // where the User's browser ends, with the answer behind it
	Ends     time.Time
}

// CodePrompt is the link and the code of a Device Sign-In.
type CodePrompt struct {
	Party
	URL      string // printable ASCII, on a host of the Company
	Complete string // the same with the code in it; empty when there is none on a host of the Company
	UserCode string // not sanitised
	Ends     time.Time
}

// Waiting is what changed while a Device Sign-In waits for the User.
type Waiting struct {
	Err error // why the Company could not be asked this time; nil when it asked for longer pauses
	// Pause is how long the next one is.
	Pause time.Duration
}

// CredentialsPrompt asks for what a Mediated Sign-In needs.
type CredentialsPrompt struct {
	Party
	Endpoint string // where the credentials go, and nowhere else
	Fields   []company.Field
}

// OneTimePrompt asks for a one-time code.
type OneTimePrompt struct {
	Party
	SentTo string    // where the Company says it sent the code; its own text, not sanitised; may be empty
	Wrong  bool      // the code before was wrong
	Ends   time.Time // of the waiting: when the Company says, and half an hour from now at most
}
