package signin

// ParseCallback is parseCallback without its result, for the fuzzer.
func ParseCallback(text, redirect, state, issuer string) (code string, err error) {
	c, err := parseCallback(text, redirect)
	if err == nil {
		err = c.belongs(state, issuer)
	}
	return c.code.Reveal(), err
}
