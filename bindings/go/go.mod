module holdall

go 1.19
