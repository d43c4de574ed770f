"""What once broke, and variations of it: each case goes through public doors and must fail at the commit it is from."""
