package tui

import "github.com/papaver-agent/papaver/attach"

// What the tasks and the help say beside the words of the other screens.
const (
	wCompanyCallsIt words = "the Company calls it "
	wToAnswer       words = " to answer."

	wOnQuestion       words = "On a question"
	wBetweenQuestions words = "Between questions"
	wOnTasks          words = "On the tasks"
	wOnList           words = "On the list of questions"
	wOnCompanies      words = "On the Companies"
	wOnTyping         words = "While you type for a sign-in"
	wOnReceipts       words = "On past operations"
)

// stepWords begins a line about a step; the step's label follows.
func stepWords(at, all int, state attach.StepState) words {
	said := words("begins")
	switch state {
	case attach.StepDone:
		said = "done"
	case attach.StepFailed:
		said = "failed"
	}
	return "Step " + count(at) + " of " + count(all) + " " + said + ": "
}

// progressWords stands beside a task's bar.
func progressWords(at, done, all int) words {
	if done == all {
		return "all " + count(done) + " steps done"
	}
	return "step " + count(at) + " of " + count(all)
}

func earlierWords(n int) words { return count(n) + " earlier steps done" }
func laterWords(n int) words   { return count(n) + " more to do" }

// extentWords says what part of something long is on the screen.
func extentWords(from, to, all int) words {
	return " lines " + count(from) + " to " + count(to) + " of " + count(all) + " "
}

func waitingWords(n int) words {
	if n == 1 {
		return "1 question waits for your answer: press l."
	}
	return count(n) + " questions wait for your answer: press l."
}

func leftOutWords(n int) words {
	if n == 1 {
		return "1 operation before these is left out here: papaver ledger list has it."
	}
	return count(n) + " operations before these are left out here: papaver ledger list has them."
}

func unexplainedWords(n int) words {
	if n == 1 {
		return "1 operation came that nothing your agent did explains. It does not come to the front by itself."
	}
	return count(n) + " operations came that nothing your agent did explains. None was approved."
}
