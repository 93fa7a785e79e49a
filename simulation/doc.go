// Package simulation runs the round of a website operation (package opsweb, with the real ledger, desk and browser code)
// against models of everything around it: the Company, the network, Chromium, the disk, the clock, the User, and the
// process itself, which can end at any moment and be started again. A seed chooses what goes wrong and when; one seed is
// one story, and the same one each time.
//
// The model of the Company is a reading of Operations v3, sections 5 to 7, that shares nothing with opsweb. After each
// step the judge compares what the agent did, wrote and said with what it could know and with what the Company did.
//
// All of it is tests: `make simulate` runs many seeds and counts the faults they met, and SEED=n tells one seed's story.
// The package has no code outside its tests, and nothing imports it.
package simulation
