package tui

import (
	"time"

	"github.com/papaver-agent/papaver/signin"
)

// What the screen of Companies says.
const (
	wTitleCompanies words = "Papaver: Companies"
	wTitleSignIn    words = "Papaver: sign in"

	wReadingKnown  words = "Reading what this home knows."
	wReadingOffers words = "Reading what the Company offers. This takes at most a minute."
	wSigningOut    words = "Signing out: the Company is asked to revoke the access. This takes at most two minutes."
	wNoCompany     words = "No Company is known yet. Press n and type the address of one to sign in."
	wNoOffer       words = "It offers no sign-in. It can be used signed out."
	wIssuer        words = "Issuer "

	wSignedOut    words = "signed out"
	wSignedIn     words = "signed in"
	wAs           words = " as "
	wUntilSignOut words = "until you sign out, here or at the Company"
	wTimeOver     words = "and the time is over: sign in again"
	wKnowsYou     words = "knows you as "
	wAccess       words = "Access   "
	wKeptFile     words = " sign-in; the token is in a file of the home"
	wKeptKeyring  words = " sign-in; the token is in the desktop's keyring"
	wCutShort     words = "a refresh was cut short; if its token was lost, you sign in again"
	wNoScope      words = "(nothing)"
	wGrants       words = "grants "

	wTypeAddress words = "Type the Company's address, such as shop.example, and press Enter. What it publishes is read then, and nothing is signed in yet."
	wChooseScope words = "What may your agent do there? Space marks or unmarks a line, Enter begins the sign-in."

	wOpenDirect words = "Open this page in your own browser, and sign in there. Where the address takes several lines here, copy them all: " +
		"a browser joins them."
	wCallback1  words = "At the end your browser goes to an address that begins with "
	wCallback2  words = " and what it shows there does not matter. Copy that whole address from the browser's address bar, paste it here and press Enter."
	wNotTaken   words = "Not taken: "
	wPasteAgain words = ". Paste the address once more."

	wOpenComplete words = "Open this page on any device, and see that it shows the code below:"
	wOpenAndType  words = "Open this page on any device, and type the code there:"
	wOrType       words = "Or open this page and type the code:"
	wCode         words = "Code     "
	wOnlyIf1      words = "Sign in only if the page is that of "
	wOnlyIf2      words = ". This screen goes on by itself when you have finished there."
	wNotAsked     words = "The Company could not be asked: "

	wHandOver1  words = "Here you hand your credentials to this agent, which sends them to"
	wHandOver2  words = "and nowhere else, and does not keep them."
	wSentCode   words = " sent you a one-time code."
	wSentCodeTo words = " sent you a one-time code. Where it says it went: "
	wWrongCode  words = "That code was wrong. Type it once more; companies lock accounts after a few wrong attempts."

	wAddressField  words = "Address of the Company"
	wCallbackField words = "The address your browser ended at"
	wCodeField     words = "The one-time code"
	wSecretEmpty   words = "(nothing yet; what you type is not shown)"
	wSecretTyped   words = "(typed; it is not shown)"

	wCompanyWaits words = "Waiting for the Company."
	wStopSurely   words = "Press Esc once more to stop this sign-in. Any other key goes on with it."
	wStopping     words = "stopping the sign-in"
	wConfirm1     words = "Sign out at "
	wConfirm2     words = "? Your agent loses its access there. Press y to sign out; any other key leaves it as it is."

	wAsked     words = "Asked    "
	wGranted   words = "Granted  "
	wMissing   words = "Not granted, though it was asked for: "
	wReplaced  words = "The access from before was revoked; this one takes its place."
	wUnrevoked words = "This takes the place of the access from before, which the Company has not revoked yet; it is tried again when you sign in or out: "

	noteSignedOut1 words = "Signed out at "
	noteSignedOut2 words = ". The Company revoked the access; it may keep the Session without your account."
	noteStopped    words = "You stopped the sign-in. Nothing was signed in."
	noteNoBrowser  words = "No browser could be opened from here. Copy the address."
	noteNoScope    words = "Mark at least one line with space."
	noteNoAddress  words = "This Company's address is not known here. Press n and type it."

	wInterrupted    words = "you were typing: press an arrow key first, then answer"
	wPlainCompanies words = "c lists the Companies this home knows, and where you are signed in."
	wPlainSignIn    words = "To sign in or out line by line leave with q, and run papaver signin COMPANY or papaver signout COMPANY."
)

// typeWords names a type of sign-in; nothing for one that is not known.
func typeWords(t signin.Type) words {
	switch t {
	case signin.Direct:
		return "Direct"
	case signin.Device:
		return "Device"
	case signin.Mediated:
		return "Mediated"
	default:
		return ""
	}
}

// typeAbout says what a type asks of the User.
func typeAbout(t signin.Type) words {
	switch t {
	case signin.Direct:
		return ": you sign in on the Company's page in your browser on this machine"
	case signin.Device:
		return ": you sign in on the Company's page on any device, by a link and a code"
	case signin.Mediated:
		return ": you give this agent your credentials for the Company"
	default:
		return ""
	}
}

// scopeWords says what the protocol's own scopes are for.
func scopeWords(scope string) words {
	switch scope {
	case "poppy:read":
		return "see what is in your account"
	case "poppy:write":
		return "change what is in your account"
	default:
		return ""
	}
}

func waitsWords(n int) words {
	if n == 1 {
		return "1 older token is not revoked yet; it is tried again when you sign in or out"
	}
	return count(n) + " older tokens are not revoked yet; they are tried again when you sign in or out"
}

func pauseWords(d time.Duration) words {
	return "It is asked again in " + count(int(d.Round(time.Second)/time.Second)) + " s; your code stays good."
}

const (
	wRunDoctor words = "run papaver doctor, then try again"
	wUntil     words = "until "
	wOpenThere words = "open it in your browser"
)

// fieldWords says which of the fields of a sign-in is typed; the Company's word for it follows.
func fieldWords(at, all int) words {
	return "Field " + count(at) + " of " + count(all) + ", the Company calls it "
}
