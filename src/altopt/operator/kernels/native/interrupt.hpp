// Whether a long loop should stop. The loops know nothing of Python: who calls them says how to find out.
#pragma once

// Asked by the calling thread alone, between two parts of its work; once true, always true.
struct Interrupt {
    bool (*asked)(void *) = nullptr;
    void *self = nullptr;

    bool wanted() const { return asked && asked(self); }
};
