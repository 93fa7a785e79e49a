package tui

// What the screen says that asks for the passphrase of the home.
const (
	wTitlePassphrase words = "Papaver asks for your passphrase"
	wPassphraseField words = "The passphrase of this home"
	wOpeningLock     words = "Opening the lock. This takes a second or two."
	wLockedAnswer    words = "This home has a lock: an answer counts only when your passphrase has signed it. Enter sends this answer with your signature."
	wLockedAccounts  words = "This home has a lock: the same passphrase seals what your agent needs to sign in and out."
	wPassphraseRules words = "What you type here is not shown and is kept nowhere. The opened lock is forgotten after a while without an answer, and when Papaver is put aside."

	wPlainPassphrase words = "Type the passphrase and press Enter. What you type is not shown. Esc answers nothing."

	kNothingAnswered words = "answer nothing"
	kSignAndSend     words = "sign and send"

	noteWrongPassphrase words = "This passphrase does not open the lock. Nothing was answered; try again."
	noteLockChanged     words = "Somebody who does not know your passphrase changed this home's lock. Nothing was answered. Trust nothing of this home before you know who."
	noteLockDamaged     words = "The file of this home's lock is damaged. Nothing was answered. Put answers/lock.json back from a copy of yours."
	noteLockUnread      words = "This home's lock could not be read, so your answer was not sent. The question is still open."
	noteNoPassphrase    words = "You gave no passphrase. Nothing was answered; the question is still open."
	noteNotOpened       words = "The lock was not opened. Nothing was done."
	noteUnsigned        words = "Your answer is not signed with the lock that this task knows, and does not count. The question is still open. Run papaver lock status."
	noteAskedMeanwhile  words = "A question came while the passphrase was asked for. What it was for was not begun."
)

// pressedWords repeats which answer the passphrase will sign.
func pressedWords(approve bool) words {
	if approve {
		return "You pressed a: this approves the terms you have just read."
	}
	return "You pressed d: this does not approve."
}
